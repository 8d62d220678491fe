//! Two runs held against each other, as `looptax diff` shows and prints it.

use crate::stats::range::{AtLeastOne, Probability};
use serde::{Deserialize, Serialize};

use crate::record::{Client, Figure, Placement};

/// What differs between two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diff {
    /// The earlier run's name.
    pub before: String,
    /// The later one's.
    pub after: String,
    /// What their users called them, the earlier one first.
    #[serde(default)]
    pub labels: [Option<String>; 2],
    /// What was not the same around the two.
    pub conditions: Vec<Condition>,
    /// What both measured.
    pub pairs: Vec<DiffPair>,
    /// What one of them measured alone, in words.
    pub left_out: Vec<String>,
}

/// A circumstance that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Which: `kernel`.
    pub name: String,
    /// As it was.
    pub before: String,
    /// As it became.
    pub after: String,
}

/// One comparison that both runs made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffPair {
    /// Kind of server.
    pub kind: String,
    /// The workload's name.
    pub workload: String,
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    pub connections: u32,
    /// The placement asked for.
    pub placement: Placement,
    /// How the load generator waited.
    pub client: Client,
    /// The tax of each arm.
    pub taxes: Vec<DiffTax>,
    /// The throughput of each arm.
    pub arms: Vec<DiffArm>,
    /// CPU time by layer, of each arm that both runs sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<DiffLayers>,
}

/// Where a request's CPU time went in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffLayers {
    /// The arm.
    pub arm: String,
    /// The arm that it is taken over; `None` for the arm's own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The layers that either run has; then their sum, and the time by the kernel's clocks without the sampler.
    pub rows: Vec<DiffLayer>,
}

/// A layer's CPU time per request in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffLayer {
    /// Its name.
    pub name: String,
    /// Earlier, µs.
    pub before_us: Figure,
    /// And later.
    pub after_us: Figure,
    /// Later minus earlier.
    pub change_us: Figure,
    /// Probability of such a change or a larger one where there is none, corrected by Holm over all layers of the arm.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "Probability::read"
    )]
    pub p: Option<f64>,
}

/// The tax of an arm in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffTax {
    /// The arm.
    pub arm: String,
    /// Its baseline.
    pub baseline: String,
    /// Percent of throughput lost, earlier.
    pub before_pct: Figure,
    /// And later.
    pub after_pct: Figure,
    /// Later minus earlier, in points of percent.
    pub change_points: Figure,
}

/// The throughput of an arm in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffArm {
    /// The arm.
    pub arm: String,
    /// Requests per second, earlier.
    pub before_per_s: Figure,
    /// And later.
    pub after_per_s: Figure,
    /// Change in percent of the earlier.
    pub change_pct: Figure,
}
