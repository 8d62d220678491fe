//! A placement that looptax ran for some seconds without judging it.
//!
//! The observed ranges have no interval, and nothing here is an estimate.

use crate::stats::range::{Amount, AtLeastOne};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Client, ClientLike, PlacementUsed, Target, Workload};

/// Observed rates, without a verdict.
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
    /// Which cores the two ends of the connections ran on.
    pub placement: PlacementUsed,
    /// How the load generator waited; if that differs between the arms, how it waited in the baseline.
    pub client: Client,
    /// The real client that the load generator imitates, if the run was to imitate one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_like: Option<ClientLike>,
    /// How long all arms together were observed.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub seconds: f64,
    /// The observations of each arm.
    pub arms: Vec<LookArm>,
    /// Why it was not judged, if the short time is not the only reason.
    pub reason: Option<String>,
}

/// The observations of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookArm {
    /// `unix`, `tcp`, ….
    pub name: String,
    /// The range of its rates over 100 ms.
    pub rate_100ms_per_s: RateRange,
    /// Levels between which the rate jumps; empty if it does not jump.
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
