//! Where each kind of server listens when nobody says otherwise.
//!
//! Data, held against an endpoint; `candidates` has whole paths.

use std::path::Path;

use looptax_model::dsn::{Kind, Protocol};

use crate::discover::servers::Place;

/// Servers that share ports and names.
struct Family {
    /// Ports: of the first protocol, and of others that the server speaks.
    ports: &'static [u16],
    /// What the names of sockets begin with.
    names: &'static [&'static str],
    kinds: &'static [Kind],
    /// For a person who sees the endpoint alone.
    words: &'static str,
}

/// The narrower before the wider: `PgBouncer` names its sockets as PostgreSQL does.
const FAMILIES: [Family; 7] = [
    Family {
        ports: &[3306, 33_060],
        names: &["mysql", "maria"],
        kinds: &[Kind::Mysql, Kind::Mariadb, Kind::Percona],
        words: "mysql or mariadb",
    },
    Family {
        ports: &[6432],
        names: &[".s.PGSQL.6432"],
        kinds: &[Kind::Pgbouncer],
        words: "pgbouncer",
    },
    Family {
        ports: &[5432],
        names: &[".s.PGSQL."],
        kinds: &[Kind::Postgres],
        words: "postgres",
    },
    Family {
        ports: &[6379],
        names: &["redis", "valkey", "keydb", "dragonfly"],
        kinds: &[Kind::Redis, Kind::Valkey, Kind::Keydb, Kind::Dragonfly],
        words: "redis or valkey",
    },
    Family {
        ports: &[11_211],
        names: &["memcached"],
        kinds: &[Kind::Memcached],
        words: "memcached",
    },
    Family {
        ports: &[27_017],
        names: &["mongodb-", "ferretdb"],
        kinds: &[Kind::Mongodb, Kind::Ferretdb],
        words: "mongodb or ferretdb",
    },
    Family {
        ports: &[6033, 6032],
        names: &["proxysql"],
        kinds: &[Kind::Proxysql],
        words: "proxysql",
    },
];

/// Whether a server of that kind usually listens there.
pub(crate) fn is_usual(kind: Kind, place: &Place) -> bool {
    let mut families = FAMILIES.iter().filter(|it| it.kinds.contains(&kind));
    families.any(|it| it.has(place))
}

/// What usually listens there.
pub(crate) fn usually(place: &Place) -> Option<&'static str> {
    let mut families = FAMILIES.iter();
    families.find(|it| it.has(place)).map(|it| it.words)
}

/// Whether the name of a socket may be one of a server of this protocol on this port.
pub(crate) fn is_called(path: &Path, protocol: Protocol, port: u16) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_lowercase();
    if protocol == Protocol::Postgres {
        return name == format!(".s.pgsql.{port}");
    }
    let is_its = |it: &&Family| { it.kinds.iter() }.any(|it| it.protocol() == Some(protocol));
    let mut names = { FAMILIES.iter() }.filter(is_its).flat_map(|it| it.names);
    names.any(|it| name.contains(it)) && !name.contains("mysqlx")
}

impl Family {
    fn has(&self, place: &Place) -> bool {
        match place {
            Place::Tcp(address) => self.ports.contains(&address.port()),
            Place::Path { path, .. } | Place::Abstract(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let name = name.trim_start_matches('@');
                self.names.iter().any(|start| name.starts_with(start))
            }
        }
    }
}
