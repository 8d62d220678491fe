//! Where each kind of server listens when nobody says otherwise.
//!
//! The facts of each kind, compared with an endpoint; `candidates` has whole paths.

use std::path::Path;

use looptax_model::dsn::{Kind, Protocol, Usual};

use crate::discover::servers::Place;

/// Whether a server of that kind usually listens there.
pub(crate) fn is_usual(kind: Kind, place: &Place) -> bool {
    fit(&kind.facts().usual, place).is_some()
}

/// What usually listens there. A longer name counts before a shorter one: `PgBouncer` names its sockets as PostgreSQL
/// does.
pub(crate) fn usually(place: &Place) -> Option<&'static str> {
    let usual = Kind::ALL.into_iter().map(|kind| &kind.facts().usual);
    let fitting = usual.filter_map(|usual| Some((fit(usual, place)?, usual.words)));
    fitting.max_by_key(|it| it.0).map(|it| it.1)
}

/// Whether the name of a socket may be one of a server of this protocol on this port.
pub(crate) fn is_called(path: &Path, protocol: Protocol, port: u16) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_lowercase();
    if protocol == Protocol::Postgres {
        return name == format!(".s.pgsql.{port}");
    }
    let facts = Kind::ALL.into_iter().map(Kind::facts);
    let its = facts.filter(|it| it.protocol == Some(protocol));
    let mut names = its.flat_map(|it| it.usual.names);
    names.any(|it| name.contains(it)) && !name.contains("mysqlx")
}

/// The length of the name that the place has of these; a port has none.
fn fit(usual: &Usual, place: &Place) -> Option<usize> {
    match place {
        Place::Tcp(address) => usual.ports.contains(&address.port()).then_some(0),
        Place::Path { path, .. } | Place::Abstract(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = name.trim_start_matches('@');
            let fitting = usual.names.iter().filter(|start| name.starts_with(**start));
            fitting.map(|start| start.len()).max()
        }
    }
}
