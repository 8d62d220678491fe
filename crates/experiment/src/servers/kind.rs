//! The kinds of server that we can start, and what each is called on a Debian-like system.
//!
//! Names only: nothing here looks at the host.

use looptax_model::dsn::{Kind, Protocol};

use crate::servers::ServerError;

/// The first version of memcached that names its threads, without which none could be pinned.
const MEMCACHED_LEAST: [u32; 3] = [1, 6, 18];

/// The kinds that can be started, in the order in which they are listed to people.
pub const STARTABLE: [Kind; 11] = [
    Kind::Mariadb,
    Kind::Mysql,
    Kind::Postgres,
    Kind::Redis,
    Kind::Valkey,
    Kind::Memcached,
    Kind::Ferretdb,
    Kind::Pgbouncer,
    Kind::PhpFpm,
    Kind::Http,
    Kind::Echo,
];

/// Whether it is measured where nobody names a target: databases, and echo for the transport alone.
pub const fn is_usual(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Ferretdb | Kind::Pgbouncer | Kind::PhpFpm | Kind::Http
    )
}

/// What a server that we start speaks.
///
/// # Errors
/// [`ServerError::UnknownKind`] for one that cannot be started.
pub fn protocol_of(kind: Kind) -> Result<Protocol, ServerError> {
    let protocol = kind.protocol().filter(|_| STARTABLE.contains(&kind));
    protocol.ok_or_else(|| ServerError::UnknownKind {
        given: kind.to_string(),
    })
}

/// The kind that this word means, if it can be started.
///
/// # Errors
/// [`ServerError::UnknownKind`].
pub fn startable(word: &str) -> Result<Kind, ServerError> {
    let mut kinds = STARTABLE.into_iter();
    kinds
        .find(|kind| kind.name() == word)
        .ok_or_else(|| ServerError::UnknownKind {
            given: word.to_owned(),
        })
}

/// The Debian package that brings the binary; `None` for the echo server and what cannot be started.
pub(crate) const fn package(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Mariadb => Some("mariadb-server-core"),
        Kind::Mysql => Some("mysql-server-core"),
        Kind::Postgres => Some("postgresql"),
        Kind::Redis => Some("redis-server"),
        Kind::Valkey => Some("valkey-server"),
        Kind::Memcached => Some("memcached"),
        Kind::Pgbouncer => Some("pgbouncer"),
        Kind::PhpFpm => Some("php-fpm"),
        _ => None,
    }
}

/// File names of the binary, the likeliest first.
pub(crate) const fn programs(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Mariadb => &["mariadbd", "mysqld"],
        Kind::Mysql => &["mysqld"],
        Kind::Postgres => &["postgres"],
        Kind::Redis => &["redis-server"],
        Kind::Valkey => &["valkey-server"],
        Kind::Memcached => &["memcached"],
        Kind::Ferretdb => &["ferretdb"],
        Kind::Pgbouncer => &["pgbouncer"],
        Kind::PhpFpm => &["php-fpm"],
        _ => &[],
    }
}

/// System accounts to run it as when we are root, the fitting one first.
pub(crate) const fn accounts(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Mariadb | Kind::Mysql => &["mysql", "nobody"],
        Kind::Postgres | Kind::Pgbouncer => &["postgres", "nobody"],
        Kind::Redis => &["redis", "nobody"],
        Kind::Valkey => &["valkey", "nobody"],
        Kind::Memcached => &["memcache", "memcached", "nobody"],
        Kind::Ferretdb => &["ferretdb", "mongodb", "nobody"],
        Kind::PhpFpm => &["www-data", "apache", "nobody"],
        _ => &[],
    }
}

/// Whether it is a program of its own, and not looptax itself.
pub(crate) const fn program_is_its_own(kind: Kind) -> bool {
    !matches!(kind, Kind::Http | Kind::Echo)
}

/// Whether a binary that prints this for `--version` is of this kind.
///
/// A `mysqld` may be a link to MariaDB's server and a `redis-server` one to Valkey's. A memcached
/// that is too old counts as none.
pub(crate) fn prints_version(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Mariadb => text.contains("MariaDB"),
        Kind::Mysql => text.contains("Ver ") && !text.contains("MariaDB"),
        Kind::Postgres => text.contains("PostgreSQL"),
        Kind::Redis => text.contains("Redis server"),
        Kind::Valkey => text.contains("Valkey server"),
        Kind::Memcached => text
            .strip_prefix("memcached ")
            .is_some_and(|version| numbers(version) >= MEMCACHED_LEAST),
        // Its second edition wants a PostgreSQL with an extension behind it.
        Kind::Ferretdb => text.starts_with("version: v1.") && text.contains("debugBuild:"),
        Kind::Pgbouncer => text.starts_with("PgBouncer "),
        Kind::PhpFpm => text.contains("(fpm-fcgi)"),
        Kind::Http | Kind::Echo => true,
        _ => false,
    }
}

/// The first three numbers of `1.6.18-beta`; 0 for what is none.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.trim().split(|part: char| !part.is_ascii_digit());
    [(); 3].map(|()| parts.next().and_then(|part| part.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for kind in STARTABLE {
            assert_eq!(startable(kind.name()).unwrap(), kind);
        }
        for word in ["oracle", "percona", "proxysql"] {
            assert!(startable(word).is_err(), "{word}");
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Kind) {
        for kind in STARTABLE
            .into_iter()
            .filter(|kind| program_is_its_own(*kind))
        {
            assert_eq!(
                prints_version(kind, text),
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
        check("PHP 8.2.36 (fpm-fcgi) (built: Jul  9 2026)", Kind::PhpFpm);
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
        for version in ["1.6.14", "1.5.22", "0.9", ""] {
            let text = format!("memcached {version}\n");
            assert!(!prints_version(Kind::Memcached, &text), "{text}");
        }
    }
}
