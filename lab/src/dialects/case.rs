//! Connections with awkward names and values that every dialect has to express correctly.
//!
//! This file does no I/O. Each case is a URL for `looptax dsn`, an account with this name, and a socket in this folder.
use looptax_model::dsn::Kind;

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) user: &'static str,
    pub(crate) password: Option<&'static str>,
    pub(crate) host: &'static str,
    pub(crate) port: Option<u16>,
    pub(crate) database: Option<&'static str>,
    /// Folder of the socket, below the scratch folder.
    pub(crate) folder: &'static str,
    /// Whether the user has a name on Redis. Only Redis supports connections with a password and no user; such a case
    /// has both on the other servers.
    redis_user: bool,
}

/// Returns a case without anything awkward.
const fn usual(name: &'static str, user: &'static str) -> Case {
    Case {
        name,
        user,
        password: Some("secret"),
        host: "127.0.0.1",
        port: None,
        database: Some("shop"),
        folder: "usual",
        redis_user: false,
    }
}

const fn secret(name: &'static str, user: &'static str, password: &'static str) -> Case {
    Case { password: Some(password), ..usual(name, user) }
}

const fn at(name: &'static str, user: &'static str, folder: &'static str) -> Case {
    Case { folder, ..usual(name, user) }
}

pub(crate) const CASES: &[Case] = &[
    Case { port: Some(6543), ..secret("password with marks of a URL, other port", "marks", "p@ss/w:o%r?d#%41&x") },
    Case {
        redis_user: true,
        ..secret("password with quotes and backslashes", "quotes", r#"it's "so" \ \n \\ '' "" end\"#)
    },
    secret("password with $ and backticks", "shell", "$HOME ${HOME} $(id) `id` !! \\$x #{1} %{y}"),
    Case { redis_user: true, ..secret("password with blanks and +", "blanks", " a + b  c% ") },
    secret("password in Unicode", "letters", "пароль–ü🔑"),
    secret("password with separators", "separators", "a;b=c&d,e|f(g)[h]{i}<j>*^~;;"),
    Case {
        host: "[::1]",
        database: Some("shop/ä%b c"),
        redis_user: true,
        ..usual("user with @ and Unicode, awkward database, IPv6 host", "us@é")
    },
    Case { password: None, host: "localhost", database: None, ..usual("no password, no database, no port", "open") },
    at("socket path with spaces and a quote", "spaces", "it's my folder"),
    at("socket path in Unicode", "unicode", "ünï–日本"),
    at("socket path with percent signs and +", "percent", "100%25 %2f%+a"),
    at("socket path with capitals", "capitals", "Var/ÜBER"),
    at("socket path with marks", "paths", r#"a:b@c(d)&e;f=g#h?i"j$x\k`l"#),
    // libpq reads this path as a list of hosts. The second host is also a folder, so that libpq does not look up a
    // name.
    at("socket path with a comma", "comma", "a,/b"),
];

/// The ordinary account, for tests of how a driver interprets a host.
pub(crate) const PLAIN: Case = usual("plain", "plain");

/// The ordinary account with a wrong password.
pub(crate) const WRONG: Case = secret("wrong password", "plain", "wrong");

impl Case {
    /// Returns whether the case is needed on a server where only the socket matters: it is the first case with its
    /// folder.
    pub(crate) fn is_about_the_socket(&self) -> bool {
        let first = CASES.iter().find(|it| it.folder == self.folder);
        first.is_some_and(|it| it.user == self.user)
    }

    /// Returns the user's name in the URL.
    pub(crate) fn user(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Memcached => None,
            Kind::Redis | Kind::Valkey if !self.redis_user => None,
            Kind::Ferretdb if self.password.is_none() => None,
            _ => Some(self.user),
        }
    }

    pub(crate) fn password(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Memcached => None,
            // SCRAM prepares passwords by rules that do not know emoji (RFC 4013).
            Kind::Ferretdb => self.password.map(|it| it.trim_end_matches('🔑')),
            _ => self.password,
        }
    }

    pub(crate) fn database(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Memcached => None,
            Kind::Redis | Kind::Valkey => self.database.map(|_| "3"),
            // On FerretDB, a database name must not contain a blank or a slash.
            Kind::Ferretdb => self.database.map(|_| "shop"),
            _ => self.database,
        }
    }

    pub(crate) fn url(&self, kind: Kind) -> String {
        let scheme = match kind {
            Kind::Mariadb => "mysql",
            Kind::Ferretdb => "mongodb",
            _ => kind.name(),
        };
        let user = self.user(kind).map(encoded).unwrap_or_default();
        let password = self.password(kind).map(encoded);
        let password = password.map(|it| format!(":{it}")).unwrap_or_default();
        let at = if user.is_empty() && password.is_empty() { "" } else { "@" };
        let port = self.port.map(|it| format!(":{it}")).unwrap_or_default();
        let database = self.database(kind).map(encoded).unwrap_or_default();
        format!("{scheme}://{user}{password}{at}{}{port}/{database}", self.host)
    }
}

/// Replaces every byte that is not a letter or digit by `%XX`.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_a_url_of_its_server() {
        let url = |name: &str, kind| {
            let case = CASES.iter().find(|it| it.user == name).unwrap();
            case.url(kind)
        };
        assert_eq!(url("us@é", Kind::Mariadb), "mysql://us%40%C3%A9:secret@[::1]/shop%2F%C3%A4%25b%20c");
        assert_eq!(url("open", Kind::Postgres), "postgres://open@localhost/");
        assert_eq!(url("open", Kind::Redis), "redis://localhost/");
        assert_eq!(url("comma", Kind::Redis), "redis://:secret@127.0.0.1/3");
        assert_eq!(url("comma", Kind::Memcached), "memcached://127.0.0.1/");
        assert_eq!(url("us@é", Kind::Ferretdb), "mongodb://us%40%C3%A9:secret@[::1]/shop");
    }
}
