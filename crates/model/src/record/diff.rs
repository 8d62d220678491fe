//! The comparison of two runs, as `looptax diff` shows and prints it.

use crate::stats::range::{AtLeastOne, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Client, Figure, Placement};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    pub before: String,
    pub after: String,
    /// The names that their users gave them, the earlier one first.
    #[serde(default)]
    pub labels: [Option<String>; 2],
    /// The differing conditions of the two.
    pub conditions: Vec<Condition>,
    /// The measurements of both.
    pub pairs: Vec<DiffPair>,
    /// The measurements of only one of them, in words.
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// Which: `kernel`.
    pub name: String,
    pub before: String,
    pub after: String,
}

/// One comparison that both runs made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffPair {
    pub kind: String,
    pub workload: String,
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub connections: u32,
    pub placement: Placement,
    pub client: Client,
    pub taxes: Vec<DiffTax>,
    pub arms: Vec<DiffArm>,
    /// CPU time by layer, of each arm that both runs sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<DiffLayers>,
}

/// Where a request's CPU time went in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffLayers {
    pub arm: String,
    /// The arm that it is taken over; `None` for the arm's own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The layers that either run has; then their sum, and the time by the kernel's clocks without the sampler.
    pub rows: Vec<DiffLayer>,
}

/// A layer's CPU time per request in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffLayer {
    pub name: String,
    /// Earlier, µs.
    pub before_us: Figure,
    pub after_us: Figure,
    pub change_us: Figure,
    /// Probability of such a change or a larger one if there is none, corrected by Holm over all layers of the arm.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
}

/// The tax of an arm in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffTax {
    pub arm: String,
    pub baseline: String,
    /// Percent of throughput lost, earlier.
    pub before_pct: Figure,
    pub after_pct: Figure,
    /// Later minus earlier, in points of percent.
    pub change_points: Figure,
    /// CPU time that a request costs more at both ends, earlier, µs.
    pub before_cpu_us: Figure,
    pub after_cpu_us: Figure,
    pub change_cpu_us: Figure,
}

/// The throughput of an arm in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffArm {
    pub arm: String,
    /// Requests per second, earlier.
    pub before_per_s: Figure,
    pub after_per_s: Figure,
    /// Change in percent of the earlier.
    pub change_pct: Figure,
}
