//! The kinds of server that looptax knows, and the protocol that each speaks.
//!
//! Data only. What a room does with a kind stays in that room.

use std::fmt;

use serde::Deserialize;

/// Names of programs, and which server each is until its version says more. `redis-check-rdb` is the same file as the
/// server on Debian.
const PROGRAMS: [(&str, Kind); 17] = [
    ("mariadbd", Kind::Mariadb),
    ("mysqld", Kind::Mysql),
    ("postgres", Kind::Postgres),
    ("postmaster", Kind::Postgres),
    ("redis-server", Kind::Redis),
    ("redis-check-rdb", Kind::Redis),
    ("valkey-server", Kind::Valkey),
    ("valkey-check-rdb", Kind::Valkey),
    ("keydb-server", Kind::Keydb),
    ("dragonfly", Kind::Dragonfly),
    ("memcached", Kind::Memcached),
    ("mongod", Kind::Mongodb),
    ("ferretdb", Kind::Ferretdb),
    ("pgbouncer", Kind::Pgbouncer),
    ("proxysql", Kind::Proxysql),
    ("uwsgi", Kind::Uwsgi),
    ("uwsgi-core", Kind::Uwsgi),
];
/// PHP-FPM's name, which a version follows in packages that may stand beside each other: `php-fpm8.2`.
const PHP_FPM: &str = "php-fpm";

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Mariadb,
    /// MySQL of Oracle.
    Mysql,
    /// Percona Server.
    Percona,
    /// PostgreSQL.
    Postgres,
    Redis,
    Valkey,
    /// `KeyDB`.
    Keydb,
    Dragonfly,
    Memcached,
    /// `MongoDB`.
    Mongodb,
    /// `FerretDB`, which speaks `MongoDB`'s protocol.
    Ferretdb,
    /// `PgBouncer`, a pooler: a server to its clients, a client to PostgreSQL.
    Pgbouncer,
    /// `ProxySQL`, likewise for MySQL.
    Proxysql,
    /// `PHP-FPM`, which runs PHP for a web server.
    #[serde(rename = "php-fpm")]
    PhpFpm,
    /// uWSGI in its own protocol, which looptax does not speak.
    Uwsgi,
    /// An application that answers HTTP behind a web server; private: looptax itself.
    Http,
    /// The built-in echo server: looptax itself.
    Echo,
}

impl Kind {
    /// The word for it in commands, tables and records: `mariadb`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Mysql => "mysql",
            Self::Percona => "percona",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Valkey => "valkey",
            Self::Keydb => "keydb",
            Self::Dragonfly => "dragonfly",
            Self::Memcached => "memcached",
            Self::Mongodb => "mongodb",
            Self::Ferretdb => "ferretdb",
            Self::Pgbouncer => "pgbouncer",
            Self::Proxysql => "proxysql",
            Self::PhpFpm => "php-fpm",
            Self::Uwsgi => "uwsgi",
            Self::Http => "http",
            Self::Echo => "echo",
        }
    }

    /// The kind that a program of this name is.
    pub fn of_program(name: &str) -> Option<Self> {
        let is_version = |it: &str| it.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
        if name.strip_prefix(PHP_FPM).is_some_and(is_version) {
            return Some(Self::PhpFpm);
        }
        let mut programs = PROGRAMS.iter();
        programs.find(|it| it.0 == name).map(|it| it.1)
    }

    /// What its clients speak with it; `None` where looptax does not.
    pub const fn protocol(self) -> Option<Protocol> {
        Some(match self {
            Self::Mariadb | Self::Mysql | Self::Percona | Self::Proxysql => Protocol::Mysql,
            Self::Postgres | Self::Pgbouncer => Protocol::Postgres,
            Self::Redis | Self::Valkey | Self::Keydb | Self::Dragonfly => Protocol::Redis,
            Self::Memcached => Protocol::Memcached,
            Self::Mongodb | Self::Ferretdb => Protocol::Mongodb,
            Self::PhpFpm => Protocol::Fastcgi,
            Self::Http => Protocol::Http,
            Self::Echo => Protocol::Echo,
            Self::Uwsgi => return None,
        })
    }

    /// The port that goes without saying in an application's settings; 0 where there is none.
    pub const fn port(self) -> u16 {
        match self.protocol() {
            Some(protocol) => protocol.port(),
            None => 0,
        }
    }

    /// Whether its clients' connections end here while it has its own to another server.
    pub const fn is_pooler(self) -> bool {
        matches!(self, Self::Pgbouncer | Self::Proxysql)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A wire protocol that looptax speaks, and the family of servers that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// MySQL, MariaDB, Percona.
    Mysql,
    /// PostgreSQL, `PgBouncer`.
    Postgres,
    /// Redis, Valkey, `KeyDB`, Dragonfly.
    Redis,
    Memcached,
    /// `MongoDB`, `FerretDB`.
    Mongodb,
    /// PHP-FPM's.
    Fastcgi,
    /// HTTP/1.1, without TLS.
    Http,
    /// The built-in echo server's.
    Echo,
}

impl Protocol {
    /// The kind that is meant where nothing but the protocol is known.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Mysql => Kind::Mysql,
            Self::Postgres => Kind::Postgres,
            Self::Redis => Kind::Redis,
            Self::Memcached => Kind::Memcached,
            Self::Mongodb => Kind::Mongodb,
            Self::Fastcgi => Kind::PhpFpm,
            Self::Http => Kind::Http,
            Self::Echo => Kind::Echo,
        }
    }

    /// The word for it: `mysql`.
    pub const fn name(self) -> &'static str {
        self.kind().name()
    }

    /// Its name as people write it: `MySQL`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Mysql => "MySQL",
            Self::Postgres => "PostgreSQL",
            Self::Redis => "Redis",
            Self::Memcached => "memcached",
            Self::Mongodb => "MongoDB",
            Self::Fastcgi => "FastCGI",
            Self::Http => "HTTP",
            Self::Echo => "echo",
        }
    }

    /// The port that goes without saying; the echo server has none.
    pub const fn port(self) -> u16 {
        match self {
            Self::Mysql => 3306,
            Self::Postgres => 5432,
            Self::Redis => 6379,
            Self::Memcached => 11_211,
            Self::Mongodb => 27_017,
            Self::Fastcgi => 9000,
            Self::Http => 80,
            Self::Echo => 0,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_their_programs() {
        assert_eq!(Kind::of_program("mysqld"), Some(Kind::Mysql));
        assert_eq!(Kind::of_program("redis-cli"), None);
    }

    #[test]
    fn php_fpm_is_known_with_and_without_its_version() {
        for name in ["php-fpm", "php-fpm8.2", "php-fpm7.4", "php-fpm82"] {
            assert_eq!(Kind::of_program(name), Some(Kind::PhpFpm), "{name}");
        }
        for name in ["php", "php8.2", "php-fpm-exporter", "my-php-fpm"] {
            assert_eq!(Kind::of_program(name), None, "{name}");
        }
    }
}
