//! The pooling modes of a private pooler, and whether the pooler keeps clients' prepared statements.
//!
//! The recipes of poolers are in `engine`. `server` starts a pooler as a companion of the server behind it, so that
//! both end together. Called by the parts of an experiment that depend on a pooler.

use looptax_model::dsn::{Arm, Kind};

use crate::servers::{ServerError, binary, engine};

/// How long a client of the pooler keeps a connection to PostgreSQL for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PoolMode {
    /// Until the client disconnects.
    #[default]
    Session,
    Transaction,
    /// For one statement; transactions of several statements are not possible.
    Statement,
}

impl PoolMode {
    pub const ALL: [Self; 3] = [Self::Session, Self::Transaction, Self::Statement];

    /// Returns the value for the setting `pool_mode`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }
}

/// Returns the installed version of this pooler, and whether it keeps clients' prepared statements in this mode.
///
/// # Errors
/// [`ServerError::BinaryMissing`].
pub fn keeps_prepared(kind: Kind, mode: PoolMode) -> Result<(String, bool), ServerError> {
    let version = binary::version_of(&binary::require_binary(kind)?);
    let keeps = { engine::pooling(kind) }.is_none_or(|it| (it.keeps_prepared)(&version, mode));
    Ok((version, keeps))
}

pub fn has_mode(kind: Kind, mode: PoolMode) -> bool {
    engine::pooling(kind).is_none_or(|it| it.modes.contains(&mode))
}

/// Returns the database name with which a pooler connects to the server over TCP; `None` if there is no such name.
pub fn over_tcp(kind: Kind) -> Option<&'static str> {
    engine::pooling(kind)?.over_tcp
}

/// Returns the database that represents the pooler itself, in which the pooler counts its clients' queries.
pub fn console(kind: Kind) -> Option<&'static str> {
    engine::pooling(kind)?.console
}

/// Returns those instances of a pooler that an arm uses. If there are several instances, only the last instance reaches
/// the server over TCP.
pub(crate) fn of_hop<T>(arm: Arm, instances: &[T]) -> &[T] {
    match arm.second_hop() {
        None => instances,
        Some(Arm::Tcp) => &instances[instances.len().saturating_sub(1)..],
        Some(_) => &instances[..instances.len().min(1)],
    }
}
