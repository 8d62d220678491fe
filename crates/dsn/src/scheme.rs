//! What the schemes of URLs stand for. Called by the reader of addresses.

use crate::{AddressError, Protocol};

/// Whether a scheme is that of a port for TLS.
pub(crate) fn is_sealed(scheme: &str) -> bool {
    ["rediss", "valkeys"].contains(&scheme)
}

/// What a scheme stands for, and whether it is that of a socket.
pub(crate) fn protocol_of(scheme: &str) -> Result<(Protocol, bool), AddressError> {
    // SQLAlchemy names the driver behind a plus.
    let base = match scheme {
        "redis+socket" | "redis+unix" | "valkey+unix" | "redis-socket" | "unix" => {
            return Ok((Protocol::Redis, true));
        }
        _ => scheme.split('+').next().unwrap_or(scheme),
    };
    match base {
        "mysql" | "mysql2" | "mariadb" | "trilogy" => Ok((Protocol::Mysql, false)),
        "postgres" | "postgresql" | "pgsql" => Ok((Protocol::Postgres, false)),
        "redis" | "valkey" | "rediss" | "valkeys" => Ok((Protocol::Redis, false)),
        "memcached" | "memcache" => Ok((Protocol::Memcached, false)),
        "mongodb" => Ok((Protocol::Mongodb, false)),
        "fastcgi" | "fcgi" => Ok((Protocol::Fastcgi, false)),
        "http" => Ok((Protocol::Http, false)),
        _ => Err(AddressError::Scheme {
            scheme: scheme.to_owned(),
        }),
    }
}

/// What a pooler's clients write, who speak to it as to its database.
pub(crate) fn instead_of(scheme: &str) -> &'static str {
    match scheme {
        "pgbouncer" => ": PgBouncer's clients write postgres://, with its port (6432)",
        "proxysql" => ": ProxySQL's clients write mysql://, with its port (6033)",
        _ => "",
    }
}
