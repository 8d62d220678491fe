//! The bill: the time and CPU time that each arm adds to a request, step by step.

use crate::stats::range::Real;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Figure;

/// The bill of a comparison of several arms: how much time each arm adds to a request, compared with another arm.
///
/// Computed from blocks. The n-th block holds the n-th epoch of each pair of arms; the epochs of a block ran in random
/// order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bill {
    /// The arm at which the steps begin.
    pub root: String,
    /// Time per request and connection of the root arm, µs.
    pub root_time_us: Figure,
    /// CPU time per request of the root arm, µs: the sum over both ends and the programs between them.
    pub root_cpu_us: Figure,
    /// The other arms, each listed after the arm that it is compared with.
    pub steps: Vec<BillStep>,
}

/// The time that one arm adds to a request, compared with another arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BillStep {
    /// The arm.
    pub arm: String,
    /// The arm with which `arm` is compared.
    pub over: String,
    /// Added time per request and connection, µs.
    pub time_us: Figure,
    /// Added CPU time per request, µs.
    pub cpu_us: Figure,
    /// Time that this arm adds, compared directly with the root arm, µs.
    pub in_all_us: Figure,
    /// `in_all_us` minus the sum of the steps from the root to this arm, µs; `null` if `over` is the root arm.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub left_over_us: Option<f64>,
}
