//! What the schemes of URLs stand for. Called by the reader of addresses.

use crate::dsn::{Kind, Protocol};

/// Whether a scheme is that of a port for TLS.
pub(crate) fn is_sealed(scheme: &str) -> bool {
    ["rediss", "valkeys"].contains(&scheme)
}

/// What a scheme stands for, and whether it is that of a socket; `None` for one that is not known.
pub(crate) fn protocol_of(scheme: &str) -> Option<(Protocol, bool)> {
    // SQLAlchemy names the driver behind a plus.
    let base = match scheme {
        "redis+socket" | "redis+unix" | "valkey+unix" | "redis-socket" | "unix" => {
            return Some((Protocol::Redis, true));
        }
        _ => scheme.split('+').next().unwrap_or(scheme),
    };
    match base {
        "mysql" | "mysql2" | "mariadb" | "trilogy" => Some((Protocol::Mysql, false)),
        "postgres" | "postgresql" | "pgsql" => Some((Protocol::Postgres, false)),
        "redis" | "valkey" | "rediss" | "valkeys" => Some((Protocol::Redis, false)),
        "memcached" | "memcache" => Some((Protocol::Memcached, false)),
        "mongodb" => Some((Protocol::Mongodb, false)),
        "fastcgi" | "fcgi" => Some((Protocol::Fastcgi, false)),
        "http" => Some((Protocol::Http, false)),
        _ => None,
    }
}

/// For the scheme of a pooler, whose clients write that of the server behind it.
pub(crate) fn instead_of(scheme: &str) -> String {
    let mut kinds = Kind::ALL.into_iter();
    let Some(kind) = kinds.find(|it| it.is_pooler() && it.name() == scheme) else {
        return String::new();
    };
    let facts = kind.facts();
    let (written, port) = (facts.protocol.map_or("", Protocol::name), facts.usual.ports[0]);
    format!(": {}'s clients write {written}://, with its port ({port})", facts.title)
}
