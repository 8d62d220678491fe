//! The conditions that libpq requires, and whether a connection over the socket meets them.

use looptax_model::dsn::{Condition, OverSocket};
use looptax_model::record::{Outcome, Point, PointCode, Topic};

const METHOD_ASKED: &str = "read the parameter; logged in over the socket and noted the server's method";

/// Makes a point for each condition. `method` is the method with which the server logs in a client over the socket, in
/// the words of `require_auth`. `server_user` is the user of the server's process. Both are `None` if not known.
///
/// # Source
/// `cargo lab oracle libpq`: libpq 13 to 18.
pub fn conditions(all: &[Condition], method: Option<&str>, server_user: Option<&str>) -> Vec<Point> {
    all.iter().map(|it| point(it, method, server_user)).collect()
}

fn point(condition: &Condition, method: Option<&str>, server_user: Option<&str>) -> Point {
    let written = &condition.written;
    let made = |is_met: Option<bool>, what: String, how: &str| {
        let (code, outcome) = match is_met {
            Some(true) => (PointCode::ConditionMet, Outcome::Pass),
            Some(false) => (PointCode::ConditionUnmet, Outcome::Fail),
            None => (PointCode::ConditionUnknown, Outcome::Unknown),
        };
        Point::new(Topic::Login, code, outcome, format!("`{written}`: {what}"), how)
    };
    match condition.over_socket {
        OverSocket::ServerUser => match server_user {
            Some(user) if condition.admits_user(user) => {
                made(Some(true), format!("the server's process runs as `{user}`"), "read the parameter and the process")
            }
            Some(user) => {
                let what = format!("over the socket libpq refuses the server, whose process runs as `{user}`");
                made(Some(false), what, "read the parameter and the process")
                    .with_next(format!("set the parameter to `{user}`"))
            }
            None => {
                made(None, "looptax cannot determine the user of the server's process".to_owned(), "read the parameter")
                    .with_next("run looptax as root")
            }
        },
        OverSocket::Methods => match method {
            Some(method) if condition.admits_method(method) => {
                made(Some(true), format!("over the socket the server's method is `{method}`"), METHOD_ASKED)
            }
            Some(method) => {
                let what = format!(
                    "over the socket the server's method is `{method}`, and libpq 16 and later refuse that method"
                );
                made(Some(false), what, METHOD_ASKED).with_next(
                    "in the server's pg_hba.conf, write the method of the line for TCP into the `local` line; or \
                     remove the parameter",
                )
            }
            None => made(
                None,
                "looptax does not know the server's method over the socket, because looptax did not log in over the \
                 socket"
                    .to_owned(),
                "read the parameter",
            )
            .with_next("pass user and password: looptax then tries a login"),
        },
        OverSocket::FailsUnless(_) | OverSocket::Same | OverSocket::Place | OverSocket::Ignored => made(
            Some(false),
            "with this parameter libpq refuses every connection over a socket".to_owned(),
            "read the parameter; libpq 13 to 18 refuse such connections",
        )
        .with_next(format!(
            "remove `{written}` from the connection over the socket: data sent over the socket does not \
                            leave this machine"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, method: Option<&str>, user: Option<&str>, expected: Outcome) {
        let condition = Condition::of(name, value).unwrap();
        let points = conditions(&[condition], method, user);
        assert_eq!(points[0].outcome, expected, "{points:#?}");
        assert_eq!(points[0].next.is_none(), expected == Outcome::Pass, "{points:#?}");
    }

    #[test]
    fn a_condition_is_met_unmet_or_not_known() {
        check("channel_binding", "require", Some("scram-sha-256"), Some("postgres"), Outcome::Fail);
        check("PGGSSENCMODE", "require", None, None, Outcome::Fail);
        check("require_auth", "scram-sha-256", Some("scram-sha-256"), None, Outcome::Pass);
        check("require_auth", "!none", Some("none"), None, Outcome::Fail);
        check("require_auth", "md5", None, Some("postgres"), Outcome::Unknown);
        check("requirepeer", "postgres", None, Some("postgres"), Outcome::Pass);
        check("requirepeer", "root", None, Some("postgres"), Outcome::Fail);
        check("requirepeer", "root", None, None, Outcome::Unknown);
    }
}
