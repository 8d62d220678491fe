//! A glimpse: a placement that looptax measured for some seconds, without a verdict.
//!
//! Only observed rates are saved; they are not estimates, and have no intervals.

use crate::stats::range::{Amount, AtLeastOne};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Client, ClientLike, PlacementUsed, Target, Workload};

/// Observed rates of all arms, without a verdict.
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
    /// The cores on which the two ends of the connections ran.
    pub placement: PlacementUsed,
    /// How the load generator waited for answers: over all arms or, if the arms differ, over the baseline.
    pub client: Client,
    /// The real client that the load generator imitates, if the user selected one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_like: Option<ClientLike>,
    /// Duration of the observation, for all arms together.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub seconds: f64,
    /// The observed rates of each arm.
    pub arms: Vec<LookArm>,
    /// Why there is no verdict, if the short time is not the only reason.
    pub reason: Option<String>,
}

/// The observed rates of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookArm {
    /// `unix`, `tcp`, ….
    pub name: String,
    /// The range of the arm's rates, each over 100 ms.
    pub rate_100ms_per_s: RateRange,
    /// Levels between which the rate jumps; empty if the rate does not jump.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Vec<Amount>")]
    pub modes_per_s: Vec<f64>,
}

/// The range of some rates, per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateRange {
    /// The smallest rate.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub min: f64,
    /// The median rate.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub median: f64,
    /// The largest rate.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub max: f64,
}
