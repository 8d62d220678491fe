//! The kinds of server that looptax knows, and the facts about each.
//!
//! A kind is a variant of [`Kind`], has a place in the two lists below, and has its facts in the file of its family.
//! Facts are only data; the code that uses a fact is in the crate or module that needs it.

mod facts;
mod mysql;
mod postgres;
mod protocol;
mod redis;
mod stores;
mod variants;
mod web;

use std::fmt;

pub use facts::{Facts, Form, LoginSetting, Private, Spelling, Usual};
pub use variants::{Kind, Protocol};

/// PHP-FPM's program name. Packages of different versions that can be installed together add the version:
/// `php-fpm8.2`.
const PHP_FPM: &str = "php-fpm";

impl Kind {
    /// All kinds, in the order in which they are listed to users.
    pub const ALL: [Self; 18] = [
        Self::Mariadb,
        Self::Mysql,
        Self::Percona,
        Self::Postgres,
        Self::Redis,
        Self::Valkey,
        Self::Keydb,
        Self::Dragonfly,
        Self::Memcached,
        Self::Mongodb,
        Self::Ferretdb,
        Self::Pgbouncer,
        Self::Pgpool,
        Self::Proxysql,
        Self::PhpFpm,
        Self::Uwsgi,
        Self::Http,
        Self::Echo,
    ];

    pub const fn facts(self) -> &'static Facts {
        match self {
            Self::Mariadb => &mysql::MARIADB,
            Self::Mysql => &mysql::MYSQL,
            Self::Percona => &mysql::PERCONA,
            Self::Postgres => &postgres::POSTGRES,
            Self::Redis => &redis::REDIS,
            Self::Valkey => &redis::VALKEY,
            Self::Keydb => &redis::KEYDB,
            Self::Dragonfly => &redis::DRAGONFLY,
            Self::Memcached => &stores::MEMCACHED,
            Self::Mongodb => &stores::MONGODB,
            Self::Ferretdb => &stores::FERRETDB,
            Self::Pgbouncer => &postgres::PGBOUNCER,
            Self::Pgpool => &postgres::PGPOOL,
            Self::Proxysql => &mysql::PROXYSQL,
            Self::PhpFpm => &web::PHP_FPM,
            Self::Uwsgi => &web::UWSGI,
            Self::Http => &web::HTTP,
            Self::Echo => &web::ECHO,
        }
    }

    /// Returns the kind's name in commands, tables and records: `mariadb`.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the kind that usually has a program of this name; the program's version may show another kind.
    pub fn of_program(name: &str) -> Option<Self> {
        let is_version = |it: &str| it.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
        if name.strip_prefix(PHP_FPM).is_some_and(is_version) {
            return Some(Self::PhpFpm);
        }
        let mut kinds = Self::ALL.into_iter();
        kinds.find(|kind| kind.facts().programs.contains(&name))
    }

    /// Returns the protocol of the server's clients; `None` if looptax does not speak this protocol.
    pub const fn protocol(self) -> Option<Protocol> {
        self.facts().protocol
    }

    /// Returns the default port in an application's settings; 0 if the kind has no default port.
    pub const fn port(self) -> u16 {
        match self.protocol() {
            Some(protocol) => protocol.port(),
            None => 0,
        }
    }

    /// Checks whether clients' connections end at this server, which has its own connections to another server.
    pub const fn is_pooler(self) -> bool {
        self.facts().pools.is_some()
    }

    /// Checks whether the kind is measured if the user names no server.
    pub fn is_usual(self) -> bool {
        let private = self.facts().private.as_ref();
        private.is_some_and(|it| it.is_usual)
    }

    /// Returns the kinds of which looptax can start a private server.
    pub fn startable() -> impl Iterator<Item = Self> {
        let kinds = Self::ALL.into_iter();
        kinds.filter(|kind| kind.facts().private.is_some())
    }
}

impl fmt::Display for Kind {
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

    #[test]
    fn each_kind_is_in_the_list_and_read_from_its_name() {
        let mut all = Kind::ALL.to_vec();
        all.dedup();
        assert!(all.is_sorted(), "in the order of the variants");
        for kind in all {
            let name = format!("\"{kind}\"");
            assert_eq!(serde_json::from_str::<Kind>(&name).unwrap(), kind);
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Kind) {
        for kind in Kind::startable() {
            let private = kind.facts().private.as_ref().unwrap();
            let is_it = !private.programs.is_empty() && (private.prints)(text);
            assert_eq!(is_it, kind == expected, "{kind}: {text}");
        }
    }

    #[test]
    fn tells_the_look_alikes_apart_by_their_version() {
        check("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64", Kind::Mariadb);
        check("/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)", Kind::Mysql);
        check("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", Kind::Postgres);
        check("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", Kind::Redis);
        check("Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", Kind::Valkey);
        check("PHP 8.2.36 (fpm-fcgi) (built: Jul  9 2026)", Kind::PhpFpm);
        check("pgpool-II version 4.3.5 (tamahomeboshi)\n", Kind::Pgpool);
        check("PgBouncer 1.18.0\nlibevent 2.1.12-stable", Kind::Pgbouncer);
        check(
            "version: v1.24.2\ncommit: unknown\nbranch: unknown\ndirty: false\npackage: unknown\ndebugBuild: false\n",
            Kind::Ferretdb,
        );
        check("memcached 1.6.18\n", Kind::Memcached);
        check("memcached 1.10.0", Kind::Memcached);
    }

    #[test]
    fn a_memcached_that_does_not_name_its_threads_is_none() {
        let memcached = Kind::Memcached.facts().private.as_ref().unwrap();
        for version in ["1.6.14", "1.5.22", "0.9", ""] {
            let text = format!("memcached {version}\n");
            assert!(!(memcached.prints)(&text), "{text}");
        }
    }
}
