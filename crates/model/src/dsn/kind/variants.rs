//! The names of the kinds of server, and of the protocols.
//!
//! `mod.rs` assigns each kind its facts. If a kind is added here, the compiler lists the places that decide by kind.

use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Mariadb,
    Mysql,
    Percona,
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
    /// `Pgpool-II`, also a pooler for PostgreSQL.
    Pgpool,
    /// `ProxySQL`, a pooler for MySQL.
    Proxysql,
    /// `PHP-FPM`, which runs PHP for a web server.
    #[serde(rename = "php-fpm")]
    PhpFpm,
    /// uWSGI with its own protocol, which looptax does not speak.
    Uwsgi,
    /// An application that answers HTTP behind a web server; looptax itself is the private server of this kind.
    Http,
    /// The built-in echo server: looptax itself.
    Echo,
}

/// A wire protocol that looptax speaks, and the family of servers that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Mysql,
    /// PostgreSQL, `PgBouncer`.
    Postgres,
    /// Redis, Valkey, `KeyDB`, Dragonfly.
    Redis,
    Memcached,
    /// `MongoDB`, `FerretDB`.
    Mongodb,
    Fastcgi,
    /// HTTP/1.1, without TLS.
    Http,
    Echo,
}
