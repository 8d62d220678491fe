//! Makes a line for the socket that accepts the same logins as over TCP.

use std::net::IpAddr;

use super::Hba;
use super::line::{HbaLine, Wrap};

/// Methods that require the same from a client over both transports.
const ON_SOCKETS: [&str; 7] = ["scram-sha-256", "md5", "password", "trust", "pam", "ldap", "radius"];

/// Words that are not names if they are not in quotes.
const KEYWORDS: [&str; 5] = ["all", "sameuser", "samerole", "samegroup", "replication"];

/// A line to write into the file, with a warning for the person who writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketLine {
    pub text: String,
    /// The users that the line accepts without a password, as the end of a sentence about the line.
    pub(super) caution: Option<String>,
}

impl Hba {
    /// Makes a line for the socket that requires the same from the client as the rules for TCP do. If the rules for TCP
    /// require something that is not possible on a socket, the line requires a password.
    pub fn socket_line(&self, database: &str, user: &str, tcp: IpAddr) -> SocketLine {
        let today = self.line_of_tcp(database, user, tcp);
        let today = today.filter(|it| ON_SOCKETS.contains(&&*it.method));
        let mut words = vec!["local".to_owned(), quoted(database), quoted(user)];
        match today {
            Some(line) => {
                words.push(line.method.clone());
                words.extend(line.options.iter().cloned());
            }
            None => words.push("scram-sha-256".to_owned()),
        }
        let is_open = today.is_some_and(|it| it.method == "trust");
        SocketLine { text: words.join("  "), caution: is_open.then(|| self.caution(database, user, tcp)) }
    }

    /// Describes the effect of a line with the method `trust`, compared with logins over TCP now.
    fn caution(&self, database: &str, user: &str, tcp: IpAddr) -> String {
        let (sealed, _) = self.decides(database, user, Some((tcp, Wrap::Tls)));
        let asking = sealed.filter(|it| !matches!(&*it.method, "trust" | "reject"));
        let today = asking.map_or_else(
            || "just as over TCP today".to_owned(),
            |line| {
                let line = line.numbered();
                format!("although today a client over TCP with TLS needs a password, because of {line}")
            },
        );
        format!(
            "; with this line the server asks no client for a password, {today}: every user of this machine who \
             reaches the socket can log in as `{user}`; if you write scram-sha-256 instead of trust, the server asks \
             for a password, and the role must have a password (ALTER ROLE \"{user}\" PASSWORD '…')"
        )
    }

    /// The line that decides a login over TCP: without TLS, or else with TLS if the login without TLS is rejected.
    pub(super) fn line_of_tcp(&self, database: &str, user: &str, tcp: IpAddr) -> Option<&HbaLine> {
        let over = |wrap| self.decides(database, user, Some((tcp, wrap))).0;
        let is_entry = |line: &&HbaLine| line.method != "reject";
        over(Wrap::None).filter(is_entry).or_else(|| over(Wrap::Tls))
    }
}

/// Quotes a name if the server would otherwise not read it literally.
pub(super) fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) && !KEYWORDS.contains(&name) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, user: &str, expected: &str) {
        let line = Hba::parse(text).socket_line("shop", user, IpAddr::from([127, 0, 0, 1]));
        assert_eq!(line.text, expected);
    }

    #[test]
    fn the_method_of_tcp_is_taken_where_a_socket_has_it() {
        check("host all all 127.0.0.1/32 md5", "app", "local  shop  app  md5");
        check("hostssl all all 127.0.0.1/32 pam pamservice=pg", "app", "local  shop  app  pam  pamservice=pg");
        check(
            "hostnossl all all 127.0.0.1/32 reject\nhostssl all all all password",
            "app",
            "local  shop  app  password",
        );
        for text in ["hostssl all all 127.0.0.1/32 cert", "host all all all ident", ""] {
            check(text, "app", "local  shop  app  scram-sha-256");
        }
    }

    #[test]
    fn r20_a_line_that_asks_nobody_for_a_password_says_so_beside_what_tcp_asks() {
        let caution = |text: &str| {
            let line = Hba::parse(text).socket_line("shop", "app", IpAddr::from([127, 0, 0, 1]));
            line.caution.unwrap_or_default()
        };
        assert_eq!(caution("host all all 127.0.0.1/32 md5"), "");
        let open = caution("host all all 127.0.0.1/32 trust");
        assert!(open.contains("just as over TCP today"), "{open}");
        let by_tls = caution("hostssl all all all scram-sha-256\nhost all all all trust");
        let asked = "needs a password, because of line 1: hostssl all all all scram-sha-256";
        assert!(by_tls.contains(asked), "{by_tls}");
    }

    #[test]
    fn names_that_mean_something_are_quoted() {
        check("", "all", "local  shop  \"all\"  scram-sha-256");
        check("", "a b", "local  shop  \"a b\"  scram-sha-256");
        check("", "+staff", "local  shop  \"+staff\"  scram-sha-256");
        check("", "a\"b", "local  shop  \"a\"\"b\"  scram-sha-256");
    }
}
