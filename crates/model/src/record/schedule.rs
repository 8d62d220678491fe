//! When what ran: enough to repeat the order of everything with the same seed.
//!
//! The plan, not what came of it: that is in the epochs.

use crate::stats::range::{Amount, Level, ProperPercent, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Hex64;

/// The plan of one comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// Length of a slice's active window; 0 for whole commands, which are as long as they are.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub slice_ms: f64,
    /// Time after each change of arm that is not counted.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub guard_ms: f64,
    /// Groups of eight slices in an epoch; 0 for whole commands, with four runs in an epoch.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub octets_per_epoch: u32,
    /// Planned looks at the data, in rising order.
    pub looks: Vec<PlannedLook>,
    /// Whether there is one look at a fixed time instead of several.
    pub fixed: bool,
    /// Whether the run goes on until the interval is narrow.
    pub precise: bool,
    /// The smallest tax worth naming; the fraction used is this number divided by 100.
    #[serde(deserialize_with = "ProperPercent::read")]
    #[schemars(with = "ProperPercent")]
    pub delta_pct: f64,
    /// Epochs thrown away before the first counted one.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub warmup_epochs: u32,
    /// The seed of this comparison's coin flips.
    pub seed: Hex64,
}

/// One planned look at the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedLook {
    /// Epochs there must be.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub epochs: u32,
    /// The two-sided level of every interval made at this look.
    #[serde(deserialize_with = "Level::read")]
    #[schemars(with = "Level")]
    pub alpha: f64,
}
