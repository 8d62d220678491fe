//! The addition of each part of an arm to a request, in steps.

use crate::stats::range::Real;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Figure;

/// The bill of a comparison of several arms: each adds something to another one of them.
///
/// Made from blocks: the same-numbered epochs of all pairs, whose order was drawn by chance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bill {
    /// The arm that the steps start from.
    pub root: String,
    /// Its time per request and connection, µs.
    pub root_time_us: Figure,
    /// Its CPU time per request, of both ends and of the programs between them, µs.
    pub root_cpu_us: Figure,
    /// The others, each after the one that it adds to.
    pub steps: Vec<BillStep>,
}

/// The addition of an arm to another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BillStep {
    /// The arm.
    pub arm: String,
    /// The one that it is compared with.
    pub over: String,
    /// Added time per request and connection, µs.
    pub time_us: Figure,
    /// Added CPU time per request, µs.
    pub cpu_us: Figure,
    /// Added time over the root, measured as a whole, µs.
    pub in_all_us: Figure,
    /// The rest of that without the steps on the way, µs; `null` for the first step.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub left_over_us: Option<f64>,
}
