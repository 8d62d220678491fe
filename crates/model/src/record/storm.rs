//! The result of a storm of connections: how many failed over either transport, and how long the last one took.
//!
//! A part of a record apart from its comparisons: a storm has no epochs and no requests.

use crate::stats::range::{Count, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Hex64;

/// The storms of one server, connected to as one client connects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storms {
    /// The server that was used: `private:mariadb`.
    pub target: String,
    /// Its version.
    pub version: String,
    /// Seed of the order of the arms.
    pub seed: Hex64,
    /// The client that was connected like: `mysqlnd`.
    pub client: String,
    /// As it is in a sentence: "PHP's mysqlnd".
    pub library: String,
    /// Program and versions that were traced for it.
    pub seen: String,
    /// How long the server was stopped, milliseconds; 0 if it was not.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub stall_ms: f64,
    /// Connects per second; `null` if all came at once.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub rate_per_s: Option<f64>,
    /// Connections that may wait on the socket and on the port beside one more, as listen(2) was called with them.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub queue: u32,
    /// `net.core.somaxconn`, which caps every queue; `null` if it cannot be read.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub somaxconn: Option<u32>,
    /// The setting that makes the server's queue longer: "set `back_log`".
    pub setting: String,
    /// Size by size.
    pub sizes: Vec<StormSize>,
}

/// The storms of one number of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormSize {
    /// Connections of a storm.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub connections: u32,
    /// Arm by arm.
    pub arms: Vec<StormArm>,
    /// The smallest queue of the socket at which nothing failed in [`Self::tries_of_queue`] storms; `null` if it was not
    /// looked for or something failed at every queue.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub smallest_queue: Option<u32>,
    /// Storms at each queue that was tried.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub tries_of_queue: u32,
}

/// The storms of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormArm {
    /// `unix` or `tcp`.
    pub arm: String,
    /// Connects that failed, percent of all: value and interval (95 %).
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Real; 3]")]
    pub failed_pct: [f64; 3],
    /// Storm by storm, in the order in which they were made.
    pub storms: Vec<Storm>,
}

/// One storm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storm {
    /// Connections that the server answered.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub served: u64,
    /// Those of them that were answered more than half a second after the server ran and they had begun.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub late: u64,
    /// Those that were not answered, by their errors.
    pub failed: Vec<StormFailure>,
    /// From the first connect to the last answer, milliseconds.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub last_ms: f64,
}

/// How connections of a storm failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StormFailure {
    /// The name of the error, `EAGAIN`, or what happened otherwise.
    pub error: String,
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
}

impl StormArm {
    /// Connections that failed in all of its storms.
    pub fn n_failed(&self) -> u64 {
        self.storms.iter().map(Storm::n_failed).sum()
    }
}

impl Storm {
    /// Connections that failed, whatever the error.
    pub fn n_failed(&self) -> u64 {
        self.failed.iter().map(|it| it.connections).sum()
    }
}
