//! A placement that was looked at for some seconds and not judged.
//!
//! A range that was seen has no interval, and nothing here is an estimate.

use crate::stats::range::{Amount, AtLeastOne};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Client, ClientLike, PlacementUsed, Target, Workload};

/// Rates that were seen, without a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// The server.
    pub target: Target,
    /// The workload of the server.
    pub workload: Workload,
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub connections: u32,
    /// Which cores the ends ran on.
    pub placement: PlacementUsed,
    /// How the load generator waited; the baseline's way where the arms differ.
    pub client: Client,
    /// The real client that this stands for, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_like: Option<ClientLike>,
    /// How long all arms together were looked at.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub seconds: f64,
    /// The observations of each arm.
    pub arms: Vec<LookArm>,
    /// The reason why it was not judged, if it is not only the short time.
    pub reason: Option<String>,
}

/// The observations of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookArm {
    /// `unix`, `tcp`, ….
    pub name: String,
    /// The range of its rates over 100 ms.
    pub rate_100ms_per_s: RateRange,
    /// Levels between which the rate jumps; empty when it does not.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Vec<Amount>")]
    pub modes_per_s: Vec<f64>,
}

/// The range of some rates, per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateRange {
    /// The smallest.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub min: f64,
    /// The median.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub median: f64,
    /// The largest.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub max: f64,
}
