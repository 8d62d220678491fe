//! What a client thread tells its coordinator of a request that failed.

use looptax_model::stats::Side;

use crate::error::{LoadError, Stage};

/// A failed request, and where.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Whose connection.
    pub(crate) side: Side,
    /// Which part of the epoch.
    pub(crate) stage: Stage,
    /// Why.
    pub(crate) source: LoadError,
}
