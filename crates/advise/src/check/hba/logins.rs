//! Combines the results of logins with the rules, so that one cause makes only one point.

use looptax_model::record::{Outcome, Point, PointCode, StepPlace};

use super::socket_line::SocketLine;
use super::verdict::RELOAD;
use crate::check::Refusal;

/// Combines the point about a login that was tried over both transports with the point about the rules for the socket.
///
/// `refusal` is the server's answer to the login over the socket. `line` is a line for the socket; with this line, the
/// server would accept the client over the socket as it does over TCP.
pub fn postgres_logins(login: Point, rules: Point, refusal: Option<&Refusal>, line: SocketLine) -> Vec<Point> {
    match (login.code, refusal) {
        (PointCode::LoginWorks, _) => vec![login, beside_a_login(rules)],
        (PointCode::LoginFailsOverSocket, Some(refusal)) => {
            if rules.outcome == Outcome::Fail {
                let what = format!("{}; over the socket the server answers: {}", rules.what, refusal.words);
                return vec![Point { what, ..rules }];
            }
            vec![of_refusal(login, refusal, line), beside_a_login(rules)]
        }
        _ => vec![login, rules],
    }
}

/// Adjusts the point about the rules if the client could log in: the rules then need not be known.
fn beside_a_login(rules: Point) -> Point {
    match rules.outcome {
        Outcome::Unknown => Point { outcome: Outcome::Note, next: None, steps: Vec::new(), ..rules },
        Outcome::Fail => {
            Point { what: format!("{}; the server still uses older rules, which allow the login", rules.what), ..rules }
        }
        Outcome::Pass | Outcome::Note => rules,
    }
}

/// Makes the point if the rules that the server uses now reject the client, whatever the file contains.
///
/// # Source
/// postgresql.org/docs/current/errcodes-appendix.html
fn of_refusal(login: Point, refusal: &Refusal, line: SocketLine) -> Point {
    if !["28000", "28P01"].contains(&&*refusal.code) {
        let outcome = Outcome::Unknown;
        return Point { outcome, ..login }.with_next("read the server's message, and check again");
    }
    login
        .with_next(format!(
            "pg_hba.conf has other rules for the socket than for TCP; to get the same rules, put this line above \
             the others in pg_hba.conf{}",
            line.caution.unwrap_or_default()
        ))
        .with_steps(StepPlace::HbaLine, [line.text])
        .with_steps(StepPlace::Sql, [RELOAD])
}

#[cfg(test)]
mod tests {
    use looptax_model::record::Topic;

    use super::super::Hba;
    use super::*;

    #[test]
    fn r20_a_refusal_that_trust_would_end_says_whom_that_lets_in() {
        let point = |topic, code| Point::new(topic, code, Outcome::Fail, "x", "y");
        let login = point(Topic::Login, PointCode::LoginFailsOverSocket);
        let mut rules = point(Topic::Hba, PointCode::HbaPassword);
        rules.outcome = Outcome::Pass;
        let refusal = Refusal { words: "no".to_owned(), code: "28P01".to_owned() };
        let hba = Hba::parse("host all all all trust\nlocal all all md5");
        let line = hba.socket_line("shop", "app", [127, 0, 0, 1].into());
        let points = postgres_logins(login, rules, Some(&refusal), line);
        let next = points[0].next.as_deref().unwrap();
        assert!(next.contains("who reaches the socket can log in as `app`"), "{next}");
        assert_eq!(points[0].steps[0].text, "local  shop  app  trust");
    }
}
