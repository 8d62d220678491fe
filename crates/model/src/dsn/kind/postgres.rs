//! PostgreSQL and its poolers.
//!
//! Facts only.

use super::facts::{Facts, Form, LoginSetting, Private, Spelling, Usual};
use super::variants::{Kind, Protocol};
use crate::dsn::Arm;

pub(super) const POSTGRES: Facts = Facts {
    name: "postgres",
    title: "PostgreSQL",
    protocol: Some(Protocol::Postgres),
    programs: &["postgres", "postmaster"],
    pools: None,
    logins: None,
    usual: Usual {
        ports: &[5432],
        names: &[".s.PGSQL."],
        words: "postgres",
    },
    spellings: &[Spelling::new(
        Kind::Postgres,
        "",
        Form::After("postgres (PostgreSQL) "),
    )],
    // It asks for twice that (`pqcomm.c`).
    how_to_raise_the_backlog: "set `max_connections` (the backlog is twice that)",
    how_to_add_a_socket: "set `unix_socket_directories` and restart",
    private: Some(Private {
        programs: &["postgres"],
        prints: |text| text.contains("PostgreSQL"),
        package: Some("postgresql"),
        accounts: &["postgres", "nobody"],
        is_usual: true,
        lacks: &[(
            Arm::TlsUnix,
            "PostgreSQL's clients never ask for TLS on a socket; MySQL's and MariaDB's may",
        )],
    }),
};

pub(super) const PGBOUNCER: Facts = Facts {
    name: "pgbouncer",
    title: "PgBouncer",
    protocol: Some(Protocol::Postgres),
    programs: &["pgbouncer"],
    pools: Some(Kind::Postgres),
    // `pam` sees where a client comes from, `cert` needs TLS.
    logins: Some(LoginSetting {
        file: "",
        option: "",
        name: "auth_type",
        usual: "md5",
        same: &["any", "trust", "plain", "md5", "scram-sha-256", "ldap"],
        include: "%",
    }),
    usual: Usual {
        ports: &[6432],
        names: &[".s.PGSQL.6432"],
        words: "pgbouncer",
    },
    spellings: &[Spelling::new(
        Kind::Pgbouncer,
        "",
        Form::After("PgBouncer "),
    )],
    how_to_raise_the_backlog: "set `listen_backlog`",
    how_to_add_a_socket: "set `unix_socket_dir` and restart",
    private: Some(Private {
        programs: &["pgbouncer"],
        prints: |text| text.starts_with("PgBouncer "),
        package: Some("pgbouncer"),
        accounts: &["postgres", "nobody"],
        is_usual: false,
        lacks: &[],
    }),
};
