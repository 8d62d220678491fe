//! Facts about PostgreSQL and its poolers.
//!
//! This file contains only data.

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
    usual: Usual { ports: &[5432], names: &[".s.PGSQL."], words: "postgres" },
    spellings: &[Spelling::new(Kind::Postgres, "", Form::After("postgres (PostgreSQL) "))],
    // PostgreSQL requests a queue that is twice as long as `max_connections`, which is 100 by default (`pqcomm.c`).
    usual_backlog: Some(200),
    how_to_raise_the_backlog: "set `max_connections` (the backlog is twice that)",
    how_to_add_a_socket: "set `unix_socket_directories` and restart",
    private: Some(Private {
        programs: &["postgres"],
        prints: |text| text.contains("PostgreSQL"),
        package: Some("postgresql"),
        accounts: &["postgres", "nobody"],
        is_usual: true,
        lacks: &[(Arm::TlsUnix, "PostgreSQL's clients never ask for TLS on a socket; MySQL's and MariaDB's may")],
    }),
};

pub(super) const PGBOUNCER: Facts = Facts {
    name: "pgbouncer",
    title: "PgBouncer",
    protocol: Some(Protocol::Postgres),
    programs: &["pgbouncer"],
    pools: Some(Kind::Postgres),
    // The values `pam` and `cert` are not listed: a `pam` module sees where a client comes from, and `cert` needs TLS.
    logins: Some(LoginSetting {
        file: "",
        option: "",
        name: "auth_type",
        usual: "md5",
        same: &["any", "trust", "plain", "md5", "scram-sha-256", "ldap"],
        include: "%",
    }),
    usual: Usual { ports: &[6432], names: &[".s.PGSQL.6432"], words: "pgbouncer" },
    spellings: &[Spelling::new(Kind::Pgbouncer, "", Form::After("PgBouncer "))],
    usual_backlog: Some(128),
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

pub(super) const PGPOOL: Facts = Facts {
    name: "pgpool",
    title: "Pgpool-II",
    protocol: Some(Protocol::Postgres),
    programs: &["pgpool"],
    pools: Some(Kind::Postgres),
    // pgpool's file `pool_hba.conf` has separate lines for sockets and for addresses.
    logins: Some(LoginSetting {
        file: "/etc/pgpool2/pgpool.conf",
        option: "-f",
        name: "enable_pool_hba",
        usual: "off",
        same: &["off", "false", "no", "0"],
        include: "include",
    }),
    // The second port is for pgpool's own commands (PCP).
    usual: Usual { ports: &[9999, 9898], names: &[".s.PGSQL.9999", ".s.PGSQL.9898"], words: "pgpool" },
    spellings: &[Spelling::new(Kind::Pgpool, "", Form::Alone((3, 9), false))],
    usual_backlog: None,
    how_to_raise_the_backlog: "raise `net.core.somaxconn` (Pgpool-II's socket uses at most 10,000)",
    how_to_add_a_socket: "set `unix_socket_directories` (before 4.4 `socket_dir`) and restart",
    private: Some(Private {
        programs: &["pgpool"],
        prints: |text| text.starts_with("pgpool-II version "),
        package: Some("pgpool2"),
        accounts: &["postgres", "nobody"],
        is_usual: false,
        lacks: &[],
    }),
};
