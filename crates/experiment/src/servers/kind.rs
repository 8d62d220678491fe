//! The kinds of server that looptax can start.
//!
//! The facts about the kinds are in `looptax_model::dsn`. This module does not look at the machine.

use looptax_model::dsn::{Kind, Protocol};

use crate::servers::ServerError;

/// Returns the protocol of a kind of server that looptax can start.
///
/// # Errors
/// [`ServerError::UnknownKind`] for a kind that cannot be started.
pub fn protocol_of(kind: Kind) -> Result<Protocol, ServerError> {
    let facts = kind.facts();
    let protocol = facts.protocol.filter(|_| facts.private.is_some());
    protocol.ok_or_else(|| unknown(facts.name))
}

/// Returns the kind with this name, if looptax can start it.
///
/// # Errors
/// [`ServerError::UnknownKind`].
pub fn startable(word: &str) -> Result<Kind, ServerError> {
    let mut kinds = Kind::startable();
    let kind = kinds.find(|kind| kind.name() == word);
    kind.ok_or_else(|| unknown(word))
}

fn unknown(word: &str) -> ServerError {
    let kinds: Vec<&str> = Kind::startable().map(Kind::name).collect();
    ServerError::UnknownKind { given: word.to_owned(), kinds: kinds.join(", ") }
}

/// Returns the file names of the kind's program, the most likely first; empty for looptax itself and for kinds that
/// cannot be started.
pub(crate) fn programs(kind: Kind) -> &'static [&'static str] {
    let private = kind.facts().private.as_ref();
    private.map_or(&[], |it| it.programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for kind in Kind::startable() {
            assert_eq!(startable(kind.name()).unwrap(), kind);
        }
        for word in ["oracle", "percona", "proxysql"] {
            assert!(startable(word).is_err(), "{word}");
        }
    }
}
