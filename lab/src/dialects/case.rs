//! The awkward connections that every dialect has to carry over.
//!
//! Pure. Each is a URL for `looptax dsn`, an account of that name and a socket in that folder.

use looptax_servers::Kind;

/// One of them.
#[derive(Debug)]
pub(crate) struct Case {
    /// What is awkward about it.
    pub(crate) name: &'static str,
    pub(crate) user: &'static str,
    pub(crate) password: Option<&'static str>,
    pub(crate) host: &'static str,
    pub(crate) port: Option<u16>,
    pub(crate) database: Option<&'static str>,
    /// Folder of the socket, below the scratch folder.
    pub(crate) folder: &'static str,
    /// Redis alone knows connections with a password and no user; here it has both.
    redis_user: bool,
}

const USUAL: Case = Case {
    name: "",
    user: "",
    password: Some("secret"),
    host: "127.0.0.1",
    port: None,
    database: Some("shop"),
    folder: "usual",
    redis_user: false,
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    Case {
        name: "password with marks of a URL, other port",
        user: "marks",
        password: Some("p@ss/w:o%r?d#%41&x"),
        port: Some(6543),
        ..USUAL
    },
    Case {
        name: "password with quotes and backslashes",
        user: "quotes",
        password: Some(r#"it's "so" \ \n \\ '' "" end\"#),
        redis_user: true,
        ..USUAL
    },
    Case {
        name: "password with $ and backticks",
        user: "shell",
        password: Some("$HOME ${HOME} $(id) `id` !! \\$x #{1} %{y}"),
        ..USUAL
    },
    Case {
        name: "password with blanks and +",
        user: "blanks",
        password: Some(" a + b  c% "),
        redis_user: true,
        ..USUAL
    },
    Case {
        name: "password in Unicode",
        user: "letters",
        password: Some("пароль–ü🔑"),
        ..USUAL
    },
    Case {
        name: "password with separators",
        user: "separators",
        password: Some("a;b=c&d,e|f(g)[h]{i}<j>*^~;;"),
        ..USUAL
    },
    Case {
        name: "user with @ and Unicode, awkward database, IPv6 host",
        user: "us@é",
        host: "[::1]",
        database: Some("shop/ä%b c"),
        redis_user: true,
        ..USUAL
    },
    Case {
        name: "no password, no database, no port",
        user: "open",
        password: None,
        host: "localhost",
        database: None,
        ..USUAL
    },
    Case {
        name: "socket path with spaces and a quote",
        user: "spaces",
        folder: "it's my folder",
        ..USUAL
    },
    Case {
        name: "socket path in Unicode",
        user: "unicode",
        folder: "ünï–日本",
        ..USUAL
    },
    Case {
        name: "socket path with percent signs and +",
        user: "percent",
        folder: "100%25 %2F%+a",
        ..USUAL
    },
    Case {
        name: "socket path with marks",
        user: "paths",
        folder: r#"a:b@c(d)&e;f=g#h?i"j$x\k`l"#,
        ..USUAL
    },
    Case {
        // A list of hosts to libpq: the second one is a folder too, so that no name is looked up.
        name: "socket path with a comma",
        user: "comma",
        folder: "a,/b",
        ..USUAL
    },
];

/// The ordinary account, to see what a host means.
pub(crate) const PLAIN: Case = Case {
    name: "plain",
    user: "plain",
    ..USUAL
};

/// The same with another password than it has.
pub(crate) const WRONG: Case = Case {
    name: "wrong password",
    user: "plain",
    password: Some("wrong"),
    ..USUAL
};

impl Case {
    /// Whether it makes a difference where only the socket counts: no other before it has the folder.
    pub(crate) fn is_about_the_socket(&self) -> bool {
        let first = CASES.iter().find(|it| it.folder == self.folder);
        first.is_some_and(|it| it.user == self.user)
    }

    /// The user's name in the URL.
    pub(crate) fn user(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Memcached => None,
            Kind::Redis | Kind::Valkey if !self.redis_user => None,
            _ => Some(self.user),
        }
    }

    pub(crate) fn password(&self, kind: Kind) -> Option<&'static str> {
        self.password.filter(|_| kind != Kind::Memcached)
    }

    /// Redis has numbers.
    pub(crate) fn database(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Memcached => None,
            Kind::Redis | Kind::Valkey => self.database.map(|_| "3"),
            _ => self.database,
        }
    }

    /// What a person has today.
    pub(crate) fn url(&self, kind: Kind) -> String {
        let scheme = match kind {
            Kind::Mariadb => "mysql",
            _ => kind.name(),
        };
        let user = self.user(kind).map(encoded).unwrap_or_default();
        let password = self.password(kind).map(encoded);
        let password = password.map(|it| format!(":{it}")).unwrap_or_default();
        let at = if user.is_empty() && password.is_empty() {
            ""
        } else {
            "@"
        };
        let port = self.port.map(|it| format!(":{it}")).unwrap_or_default();
        let database = self.database(kind).map(encoded).unwrap_or_default();
        format!(
            "{scheme}://{user}{password}{at}{}{port}/{database}",
            self.host
        )
    }
}

/// Every byte that is no letter or digit as `%XX`.
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
        assert_eq!(
            url("us@é", Kind::Mariadb),
            "mysql://us%40%C3%A9:secret@[::1]/shop%2F%C3%A4%25b%20c"
        );
        assert_eq!(url("open", Kind::Postgres), "postgres://open@localhost/");
        assert_eq!(url("open", Kind::Redis), "redis://localhost/");
        assert_eq!(url("comma", Kind::Redis), "redis://:secret@127.0.0.1/3");
        assert_eq!(url("comma", Kind::Memcached), "memcached://127.0.0.1/");
    }
}
