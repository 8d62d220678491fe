//! The pooling modes of a private pooler, and whether the pooler keeps clients' prepared statements.
//!
//! The recipes of poolers are in `engine`; `server` starts a pooler as a companion of the server that it pools, so that
//! both end together. Called by the parts of an experiment that depend on a pooler.

use looptax_model::dsn::{Arm, Kind};

use crate::servers::{ServerError, binary, engine};

/// How long a client keeps a connection to PostgreSQL for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PoolMode {
    /// As long as the client is connected.
    #[default]
    Session,
    Transaction,
    /// For one statement; a transaction cannot have several.
    Statement,
}

impl PoolMode {
    pub const ALL: [Self; 3] = [Self::Session, Self::Transaction, Self::Statement];

    /// The value of `pool_mode`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }
}

/// The installed version of this pooler, and whether it keeps clients' prepared statements in this mode.
///
/// # Errors
/// [`ServerError::BinaryMissing`].
pub fn keeps_prepared(kind: Kind, mode: PoolMode) -> Result<(String, bool), ServerError> {
    let version = binary::version_of(&binary::require_binary(kind)?);
    let keeps = { engine::pooling(kind) }.is_none_or(|it| (it.keeps_prepared)(&version, mode));
    Ok((version, keeps))
}

/// Whether the pooler supports this mode.
pub fn has_mode(kind: Kind, mode: PoolMode) -> bool {
    engine::pooling(kind).is_none_or(|it| it.modes.contains(&mode))
}

/// The database name with which a pooler's clients reach the server's port, if another name leads to the server's
/// socket.
pub fn over_tcp(kind: Kind) -> Option<&'static str> {
    engine::pooling(kind)?.over_tcp
}

/// The database that represents the pooler itself and counts its clients' queries.
pub fn console(kind: Kind) -> Option<&'static str> {
    engine::pooling(kind)?.console
}

/// The pooler instances for an arm: if there are several, the last one reaches the server over TCP.
pub(crate) fn of_hop<T>(arm: Arm, instances: &[T]) -> &[T] {
    match arm.second_hop() {
        None => instances,
        Some(Arm::Tcp) => &instances[instances.len().saturating_sub(1)..],
        Some(_) => &instances[..instances.len().min(1)],
    }
}
