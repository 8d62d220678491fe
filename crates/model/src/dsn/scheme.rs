//! The URL schemes and their protocols. Called by the parser of addresses.

use crate::dsn::{Kind, Protocol};
use crate::failure::nearest;

/// URL schemes, each with the protocol of the server.
const SCHEMES: [(&str, Protocol); 17] = [
    ("mysql", Protocol::Mysql),
    ("mysql2", Protocol::Mysql),
    ("mariadb", Protocol::Mysql),
    ("trilogy", Protocol::Mysql),
    ("postgres", Protocol::Postgres),
    ("postgresql", Protocol::Postgres),
    ("pgsql", Protocol::Postgres),
    ("redis", Protocol::Redis),
    ("valkey", Protocol::Redis),
    ("rediss", Protocol::Redis),
    ("valkeys", Protocol::Redis),
    ("memcached", Protocol::Memcached),
    ("memcache", Protocol::Memcached),
    ("mongodb", Protocol::Mongodb),
    ("fastcgi", Protocol::Fastcgi),
    ("fcgi", Protocol::Fastcgi),
    ("http", Protocol::Http),
];

/// Returns whether the scheme stands for TCP with TLS.
pub(crate) fn is_sealed(scheme: &str) -> bool {
    ["rediss", "valkeys"].contains(&scheme)
}

/// Returns the protocol of a scheme, and whether the URL's path is a socket; `None` for an unknown scheme.
pub(crate) fn protocol_of(scheme: &str) -> Option<(Protocol, bool)> {
    // SQLAlchemy writes the driver's name after a plus: `mysql+pymysql`.
    let base = match scheme {
        "redis+socket" | "redis+unix" | "valkey+unix" | "redis-socket" | "unix" => {
            return Some((Protocol::Redis, true));
        }
        _ => scheme.split('+').next().unwrap_or(scheme),
    };
    SCHEMES.iter().find(|(scheme, _)| *scheme == base).map(|(_, protocol)| (*protocol, false))
}

/// Returns a scheme to suggest in place of an unknown scheme. If the scheme is a pooler's name, suggests the scheme of
/// the server behind the pooler; otherwise, the most similar scheme.
pub(crate) fn instead_of(scheme: &str) -> String {
    let mut kinds = Kind::ALL.into_iter();
    if let Some(kind) = kinds.find(|it| it.is_pooler() && it.name() == scheme) {
        let facts = kind.facts();
        let (written, port) = (facts.protocol.map_or("", Protocol::name), facts.usual.ports[0]);
        return format!(": for {}, write {written}:// with its port ({port})", facts.title);
    }
    // A known scheme was refused for another reason, so it is not suggested again.
    let meant = nearest(scheme, SCHEMES.iter().map(|(scheme, _)| *scheme)).filter(|it| *it != scheme);
    meant.map_or_else(String::new, |it| format!("; did you mean {it}://?"))
}
