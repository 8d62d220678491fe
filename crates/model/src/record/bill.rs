//! The bill: the time and CPU time that each arm adds to a request, step by step.

use crate::stats::range::Real;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Figure;

/// The bill of a comparison of several arms: how much each arm adds to another arm.
///
/// Computed from blocks. A block holds the epochs that have the same number in all pairs of arms; the order of these
/// epochs was random.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bill {
    /// The arm at which the steps begin.
    pub root: String,
    /// Time per request and connection of the root arm, µs.
    pub root_time_us: Figure,
    /// CPU time per request of the root arm, µs: both ends and the programs between them together.
    pub root_cpu_us: Figure,
    /// The other arms, each listed after the arm that it is compared with.
    pub steps: Vec<BillStep>,
}

/// The addition of one arm to another arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BillStep {
    /// The arm.
    pub arm: String,
    /// The arm that it is compared with.
    pub over: String,
    /// Added time per request and connection, µs.
    pub time_us: Figure,
    /// Added CPU time per request, µs.
    pub cpu_us: Figure,
    /// Time that this arm adds to the root arm, from the direct comparison of the two, µs.
    pub in_all_us: Figure,
    /// `in_all_us` minus the sum of the steps from the root to this arm, µs; `null` for a first step.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub left_over_us: Option<f64>,
}
