//! Knows the usual addresses of each kind of server.
//!
//! Compares the facts about each kind with an endpoint; `candidates` has complete paths.

use looptax_model::dsn::{Kind, Usual};

use crate::discover::servers::Place;

/// Whether a server of this kind usually listens at this place.
pub(crate) fn is_usual(kind: Kind, place: &Place) -> bool {
    fit(&kind.facts().usual, place).is_some()
}

/// Returns the server that usually listens at this place. A longer name is preferred to a shorter one, because
/// `PgBouncer` names its sockets as PostgreSQL does.
pub(crate) fn usually(place: &Place) -> Option<&'static str> {
    let usual = Kind::ALL.into_iter().map(|kind| &kind.facts().usual);
    let fitting = usual.filter_map(|usual| Some((fit(usual, place)?, usual.words)));
    fitting.max_by_key(|it| it.0).map(|it| it.1)
}

/// Returns the length of the longest usual name with which the name of the place starts; 0 for a port.
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
