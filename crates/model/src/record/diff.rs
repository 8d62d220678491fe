//! The comparison of two runs, as `looptax diff` prints it.

use crate::stats::range::{AtLeastOne, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Client, Figure, Placement};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    pub before: String,
    pub after: String,
    /// The labels that the user gave to the two runs, the earlier run first.
    #[serde(default)]
    pub labels: [Option<String>; 2],
    /// The conditions in which the two runs differ.
    pub conditions: Vec<Condition>,
    /// The comparisons that both runs measured.
    pub pairs: Vec<DiffPair>,
    /// The comparisons that only one of the runs measured, each as a sentence.
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// Name of the condition: `kernel`.
    pub name: String,
    pub before: String,
    pub after: String,
}

/// A comparison that both runs measured.
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

/// The layers in which a request's CPU time was spent in the two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffLayers {
    pub arm: String,
    /// The arm whose time is subtracted; `None` if the figures are the arm's own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The layers that occur in at least one of the runs, then their sum, and then the time that the kernel's clocks
    /// measured without the sampler.
    pub rows: Vec<DiffLayer>,
}

/// A layer's CPU time per request in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffLayer {
    pub name: String,
    /// CPU time in the earlier run, µs.
    pub before_us: Figure,
    pub after_us: Figure,
    pub change_us: Figure,
    /// Probability of this change or a larger change if there is in fact no change, corrected by Holm's method for the
    /// number of layers of the arm.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
}

/// The tax of an arm in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffTax {
    pub arm: String,
    pub baseline: String,
    /// Throughput lost in the earlier run, percent.
    pub before_pct: Figure,
    pub after_pct: Figure,
    /// The tax of the later run minus the tax of the earlier run, percentage points.
    pub change_points: Figure,
    /// CPU time that the arm adds to a request in the earlier run, both ends together, µs.
    pub before_cpu_us: Figure,
    pub after_cpu_us: Figure,
    pub change_cpu_us: Figure,
}

/// The throughput of an arm in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffArm {
    pub arm: String,
    /// Requests per second in the earlier run.
    pub before_per_s: Figure,
    pub after_per_s: Figure,
    /// Change, percent of the earlier run's figure.
    pub change_pct: Figure,
}
