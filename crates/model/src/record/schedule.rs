//! The plan of a comparison, with everything that is needed to repeat it with the same seed.
//!
//! The epochs show what really happened.

use crate::stats::range::{Amount, Level, ProperPercent, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Hex64;

/// The plan of one comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// Length of a slice's active window; 0 for commands that are measured as a whole, from their start to their end.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub slice_ms: f64,
    /// Length of the period after each change of the arm; requests in this period do not count.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub guard_ms: f64,
    /// Number of groups of eight slices in an epoch; 0 for commands that are measured as a whole, with four runs in an
    /// epoch.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub octets_per_epoch: u32,
    /// The planned interim analyses (looks), sorted by number of epochs.
    pub looks: Vec<PlannedLook>,
    /// Whether there is only one interim analysis, after a fixed time.
    pub fixed: bool,
    /// Whether the run continues until the interval is narrow enough.
    pub precise: bool,
    /// The smallest tax that matters, percent; the statistics use it as a fraction: this number divided by 100.
    #[serde(deserialize_with = "ProperPercent::read")]
    #[schemars(with = "ProperPercent")]
    pub delta_pct: f64,
    /// Number of epochs that are run and discarded before the first epoch that counts.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub warmup_epochs: u32,
    /// The seed of the coin flips of this comparison.
    pub seed: Hex64,
}

/// One planned interim analysis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedLook {
    /// Number of epochs after which the interim analysis takes place.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub epochs: u32,
    /// The two-sided level of every interval that is computed at this interim analysis.
    #[serde(deserialize_with = "Level::read")]
    #[schemars(with = "Level")]
    pub alpha: f64,
}
