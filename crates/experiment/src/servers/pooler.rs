//! How a private pooler pools, and what it can keep for its clients.
//!
//! Its recipe is in `engine`; `server` starts it beside the server that it pools, as a companion, so that both end
//! together. Called by the parts of an experiment that depend on a pooler.

use looptax_model::dsn::{Arm, Kind};

use crate::servers::{ServerError, binary, engine};

/// For how long a client has a connection to PostgreSQL for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PoolMode {
    /// As long as it is connected.
    #[default]
    Session,
    Transaction,
    /// For a statement; no transaction has two.
    Statement,
}

impl PoolMode {
    pub const ALL: [Self; 3] = [Self::Session, Self::Transaction, Self::Statement];

    /// As `pool_mode` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }
}

/// The version of this pooler that is installed, and whether it keeps what clients prepare in this mode.
///
/// # Errors
/// [`ServerError::BinaryMissing`].
pub fn keeps_prepared(kind: Kind, mode: PoolMode) -> Result<(String, bool), ServerError> {
    let version = binary::version_of(&binary::require_binary(kind)?);
    let keeps = { engine::pooling(kind) }.is_none_or(|it| (it.keeps_prepared)(&version, mode));
    Ok((version, keeps))
}

/// Whether it can pool in this mode.
pub fn has_mode(kind: Kind, mode: PoolMode) -> bool {
    engine::pooling(kind).is_none_or(|it| it.modes.contains(&mode))
}

/// The database with which clients of a pooler reach the port of the server behind it, if that has another name than
/// the one that leads to its socket.
pub fn over_tcp(kind: Kind) -> Option<&'static str> {
    engine::pooling(kind)?.over_tcp
}

/// The database that is the pooler itself and counts its clients' queries.
pub fn console(kind: Kind) -> Option<&'static str> {
    engine::pooling(kind)?.console
}

/// A pooler's instances for an arm: the last one reaches the server over TCP.
pub(crate) fn of_hop<T>(arm: Arm, instances: &[T]) -> &[T] {
    match arm.second_hop() {
        None => instances,
        Some(Arm::Tcp) => &instances[instances.len().saturating_sub(1)..],
        Some(_) => &instances[..instances.len().min(1)],
    }
}
