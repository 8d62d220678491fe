//! The order in which everything ran: enough to repeat it with the same seed.
//!
//! This is the plan; the epochs show what happened.

use crate::stats::range::{Amount, Level, ProperPercent, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Hex64;

/// The plan of one comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// Length of a slice's active window; 0 for whole commands, which run as long as they take.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub slice_ms: f64,
    /// Time after each change of arm that is not counted.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub guard_ms: f64,
    /// Groups of eight slices in an epoch; 0 for whole commands, of which an epoch has four runs.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub octets_per_epoch: u32,
    /// Planned looks at the data, in rising order.
    pub looks: Vec<PlannedLook>,
    /// Whether there is one look at a fixed time instead of several.
    pub fixed: bool,
    /// Whether the run continues until the interval is narrow.
    pub precise: bool,
    /// The smallest tax that matters, in percent; the statistics use this number divided by 100 as a fraction.
    #[serde(deserialize_with = "ProperPercent::read")]
    #[schemars(with = "ProperPercent")]
    pub delta_pct: f64,
    /// Epochs that are discarded before the first counted epoch.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub warmup_epochs: u32,
    /// The seed of this comparison's coin flips.
    pub seed: Hex64,
}

/// One planned look at the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedLook {
    /// Number of epochs at which the look takes place.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub epochs: u32,
    /// The two-sided level of every interval made at this look.
    #[serde(deserialize_with = "Level::read")]
    #[schemars(with = "Level")]
    pub alpha: f64,
}
