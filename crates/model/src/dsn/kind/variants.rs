//! The names of the kinds of server, and of the protocols.
//!
//! `mod.rs` assigns each kind its facts. If a kind is added, the compiler lists the places in the code that decide by
//! kind.

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
    Keydb,
    Dragonfly,
    Memcached,
    Mongodb,
    /// `FerretDB`, which uses `MongoDB`'s protocol.
    Ferretdb,
    /// `PgBouncer`, a pooler: its clients see a server, and PostgreSQL sees a client.
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
    /// An application that is behind a web server and answers HTTP requests; looptax itself is the private server of
    /// this kind.
    Http,
    /// The echo server, which is part of looptax.
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
