//! The kinds of server that we can start, and what each is called on a Debian-like system.
//!
//! Names only: nothing here looks at the host.

use std::fmt;
use std::str::FromStr;

use crate::ServerError;

/// A kind of private server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// MariaDB (`mariadbd`).
    Mariadb,
    /// MySQL of Oracle or Percona (`mysqld`).
    Mysql,
    /// PostgreSQL (`postgres`).
    Postgres,
    /// Redis (`redis-server`).
    Redis,
    /// Valkey (`valkey-server`).
    Valkey,
    /// memcached (`memcached`).
    Memcached,
    /// The built-in echo server: looptax itself.
    Echo,
}

/// The first version of memcached that names its threads, without which none could be pinned.
const MEMCACHED_LEAST: [u32; 3] = [1, 6, 18];

impl Kind {
    /// All of them, in the order in which they are listed to people.
    pub const ALL: [Self; 7] = [
        Self::Mariadb,
        Self::Mysql,
        Self::Postgres,
        Self::Redis,
        Self::Valkey,
        Self::Memcached,
        Self::Echo,
    ];

    /// The word for it in commands and records: `mariadb`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Valkey => "valkey",
            Self::Memcached => "memcached",
            Self::Echo => "echo",
        }
    }

    /// The Debian package that brings the binary; `None` for the echo server.
    pub const fn package(self) -> Option<&'static str> {
        match self {
            Self::Mariadb => Some("mariadb-server-core"),
            Self::Mysql => Some("mysql-server-core"),
            Self::Postgres => Some("postgresql"),
            Self::Redis => Some("redis-server"),
            Self::Valkey => Some("valkey-server"),
            Self::Memcached => Some("memcached"),
            Self::Echo => None,
        }
    }

    /// File names of the binary, the likeliest first.
    pub(crate) const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Mariadb => &["mariadbd", "mysqld"],
            Self::Mysql => &["mysqld"],
            Self::Postgres => &["postgres"],
            Self::Redis => &["redis-server"],
            Self::Valkey => &["valkey-server"],
            Self::Memcached => &["memcached"],
            Self::Echo => &[],
        }
    }

    /// System accounts to run it as when we are root, the fitting one first.
    pub(crate) const fn accounts(self) -> &'static [&'static str] {
        match self {
            Self::Mariadb | Self::Mysql => &["mysql", "nobody"],
            Self::Postgres => &["postgres", "nobody"],
            Self::Redis => &["redis", "nobody"],
            Self::Valkey => &["valkey", "nobody"],
            Self::Memcached => &["memcache", "memcached", "nobody"],
            Self::Echo => &[],
        }
    }

    /// Whether a binary that prints this for `--version` is of this kind.
    ///
    /// A `mysqld` may be a link to MariaDB's server and a `redis-server` one to Valkey's. A memcached
    /// that is too old counts as none.
    pub(crate) fn prints_version(self, text: &str) -> bool {
        match self {
            Self::Mariadb => text.contains("MariaDB"),
            Self::Mysql => text.contains("Ver ") && !text.contains("MariaDB"),
            Self::Postgres => text.contains("PostgreSQL"),
            Self::Redis => text.contains("Redis server"),
            Self::Valkey => text.contains("Valkey server"),
            Self::Memcached => text
                .strip_prefix("memcached ")
                .is_some_and(|version| numbers(version) >= MEMCACHED_LEAST),
            Self::Echo => true,
        }
    }
}

/// The first three numbers of `1.6.18-beta`; 0 for what is none.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.trim().split(|part: char| !part.is_ascii_digit());
    [(); 3].map(|()| parts.next().and_then(|part| part.parse().ok()).unwrap_or(0))
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = ServerError;

    fn from_str(given: &str) -> Result<Self, ServerError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == given)
            .ok_or_else(|| ServerError::UnknownKind {
                given: given.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse::<Kind>().unwrap(), kind);
        }
        assert!("oracle".parse::<Kind>().is_err());
    }

    #[track_caller]
    fn check(text: &str, expected: Kind) {
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Echo) {
            assert_eq!(
                kind.prints_version(text),
                kind == expected,
                "{kind}: {text}"
            );
        }
    }

    #[test]
    fn tells_the_look_alikes_apart_by_their_version() {
        check(
            "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64",
            Kind::Mariadb,
        );
        check(
            "/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)",
            Kind::Mysql,
        );
        check(
            "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)",
            Kind::Postgres,
        );
        check(
            "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64",
            Kind::Redis,
        );
        check(
            "Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64",
            Kind::Valkey,
        );
        check("memcached 1.6.18\n", Kind::Memcached);
        check("memcached 1.10.0", Kind::Memcached);
    }

    #[test]
    fn a_memcached_that_does_not_name_its_threads_is_none() {
        for version in ["1.6.14", "1.5.22", "0.9", ""] {
            let text = format!("memcached {version}\n");
            assert!(!Kind::Memcached.prints_version(&text), "{text}");
        }
    }
}
