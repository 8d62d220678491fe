//! A client thread's report to its coordinator about a request that failed.

use looptax_model::stats::Side;

use crate::error::{LoadError, Stage};

/// A failed request, and the place where it failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) side: Side,
    pub(crate) stage: Stage,
    pub(crate) source: LoadError,
}
