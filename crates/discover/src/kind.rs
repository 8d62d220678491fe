//! The servers that are known, by the names of their programs.
//!
//! Data only.

use std::fmt;

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerKind {
    /// MySQL of Oracle.
    Mysql,
    /// MariaDB.
    Mariadb,
    /// Percona Server.
    Percona,
    /// PostgreSQL.
    Postgres,
    /// Redis.
    Redis,
    /// Valkey.
    Valkey,
    /// `KeyDB`.
    Keydb,
    /// Dragonfly.
    Dragonfly,
    /// memcached.
    Memcached,
    /// `MongoDB`.
    Mongodb,
    /// `PgBouncer`, a pooler: a server to its clients, a client to PostgreSQL.
    Pgbouncer,
    /// `ProxySQL`, likewise for MySQL.
    Proxysql,
}

/// Names of programs, and which server each is until its version says more.
const PROGRAMS: [(&str, ServerKind); 14] = [
    ("mariadbd", ServerKind::Mariadb),
    ("mysqld", ServerKind::Mysql),
    ("postgres", ServerKind::Postgres),
    ("postmaster", ServerKind::Postgres),
    ("redis-server", ServerKind::Redis),
    ("redis-check-rdb", ServerKind::Redis),
    ("valkey-server", ServerKind::Valkey),
    ("valkey-check-rdb", ServerKind::Valkey),
    ("keydb-server", ServerKind::Keydb),
    ("dragonfly", ServerKind::Dragonfly),
    ("memcached", ServerKind::Memcached),
    ("mongod", ServerKind::Mongodb),
    ("pgbouncer", ServerKind::Pgbouncer),
    ("proxysql", ServerKind::Proxysql),
];

impl ServerKind {
    /// The kind that a program of this name is; `redis-check-rdb` is the same file as the server on
    /// Debian.
    pub(crate) fn of_program(name: &str) -> Option<Self> {
        PROGRAMS
            .iter()
            .find(|(program, _)| *program == name)
            .map(|(_, kind)| *kind)
    }

    /// The kind, when the version that the program prints says more than its name: a `mysqld` may be
    /// MariaDB's or Percona's, a `redis-server` Valkey's.
    pub(crate) fn refined(self, version: &str) -> Self {
        match self {
            Self::Mysql | Self::Mariadb if version.contains("MariaDB") => Self::Mariadb,
            Self::Mysql if version.contains("Percona") => Self::Percona,
            Self::Redis if version.contains("Valkey") => Self::Valkey,
            _ => self,
        }
    }

    /// The word for it: `mariadb`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
            Self::Percona => "percona",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Valkey => "valkey",
            Self::Keydb => "keydb",
            Self::Dragonfly => "dragonfly",
            Self::Memcached => "memcached",
            Self::Mongodb => "mongodb",
            Self::Pgbouncer => "pgbouncer",
            Self::Proxysql => "proxysql",
        }
    }

    /// Whether its clients' connections end here while it has its own to another server.
    pub const fn is_pooler(self) -> bool {
        matches!(self, Self::Pgbouncer | Self::Proxysql)
    }

    /// What makes its queue of connections longer.
    ///
    /// # Source
    /// The servers' documentation; PostgreSQL asks for twice `max_connections` (`pqcomm.c`).
    pub const fn how_to_raise_the_backlog(self) -> &'static str {
        match self {
            Self::Mysql | Self::Mariadb | Self::Percona => "set `back_log`",
            Self::Postgres => "set `max_connections` (the backlog is twice that)",
            Self::Redis | Self::Valkey | Self::Keydb => "set `tcp-backlog` (sockets have it too)",
            Self::Memcached => "set `-b`",
            Self::Pgbouncer => "set `listen_backlog`",
            Self::Dragonfly | Self::Mongodb | Self::Proxysql => "raise its backlog",
        }
    }

    /// What has to be set for a server of this kind to have a socket, and what that takes.
    pub const fn how_to_add_a_socket(self) -> &'static str {
        match self {
            Self::Mysql | Self::Mariadb | Self::Percona => {
                "set `socket=` under [mysqld] and restart"
            }
            Self::Postgres => "set `unix_socket_directories` and restart",
            Self::Redis | Self::Valkey | Self::Keydb => {
                "set `unixsocket` and `unixsocketperm` and restart; TCP stays"
            }
            Self::Dragonfly => "start it with `--unixsocket PATH`; TCP stays",
            Self::Memcached => {
                "start it with `-s PATH`; that turns TCP off, so other hosts need a second one"
            }
            Self::Mongodb => {
                "set `net.unixDomainSocket.enabled` (and `filePermissions`) and restart"
            }
            Self::Pgbouncer => "set `unix_socket_dir` and restart",
            Self::Proxysql => "add `;/path.sock` to `mysql-interfaces` and restart",
        }
    }
}

impl fmt::Display for ServerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_are_told_apart_by_what_they_print() {
        let mysqld = ServerKind::of_program("mysqld").unwrap();
        let check = |version, expected| assert_eq!(mysqld.refined(version), expected, "{version}");
        check(
            "Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)",
            ServerKind::Mysql,
        );
        check(
            "Ver 8.0.36-28 for Linux (Percona Server (GPL), Release 28)",
            ServerKind::Percona,
        );
        check(
            "Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu",
            ServerKind::Mariadb,
        );
        assert_eq!(
            ServerKind::Redis.refined("Valkey server v=8.1.1 sha=00000000:0"),
            ServerKind::Valkey
        );
        assert_eq!(ServerKind::of_program("redis-cli"), None);
    }
}
