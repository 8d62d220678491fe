//! The result of a connection storm: how many connections failed over each transport, and how long the last answer
//! took.
//!
//! A part of a record that is separate from its comparisons: a storm has no epochs and no requests.

use crate::stats::range::{Count, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Hex64;

/// The storms against one server, with connections opened as one client opens them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storms {
    /// The server that was used: `private:mariadb`.
    pub target: String,
    /// Its version.
    pub version: String,
    /// Seed of the order of the arms.
    pub seed: Hex64,
    /// The client whose way of connecting was imitated: `mysqlnd`.
    pub client: String,
    /// Its name as used in a sentence: "PHP's mysqlnd".
    pub library: String,
    /// The client program and the versions that were traced to learn its way.
    pub seen: String,
    /// How long the server was stopped, milliseconds; 0 if it was not stopped.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub stall_ms: f64,
    /// Connection attempts per second; `null` if all began together.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub rate_per_s: Option<f64>,
    /// Length of the queues of the socket and of the port, as passed to listen(2); one more connection than that may
    /// wait.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub queue: u32,
    /// `net.core.somaxconn`, which caps every queue; `null` if it cannot be read.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub somaxconn: Option<u32>,
    /// The setting that makes the server's queues longer: "set `back_log`".
    pub setting: String,
    /// The storms for each number of connections.
    pub sizes: Vec<StormSize>,
}

/// The storms with one number of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormSize {
    /// Connections in each storm.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub connections: u32,
    /// The storms of each arm.
    pub arms: Vec<StormArm>,
    /// The smallest queue of the socket with which nothing failed in [`Self::tries_of_queue`] storms; `null` if it was
    /// not searched for, or if something failed with every queue.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub smallest_queue: Option<u32>,
    /// Storms for each queue length that was tried.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub tries_of_queue: u32,
}

/// The storms of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormArm {
    /// `unix` or `tcp`.
    pub arm: String,
    /// Failed connection attempts, percent of all: value and interval (95 %).
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Real; 3]")]
    pub failed_pct: [f64; 3],
    /// Each storm, in the order in which they were made.
    pub storms: Vec<Storm>,
}

/// One storm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storm {
    /// Connections that the server answered.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub served: u64,
    /// The served connections that were answered more than half a second after the later of two moments: the connection
    /// attempt began, and the server ran again.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub late: u64,
    /// Connections that were not answered, by error.
    pub failed: Vec<StormFailure>,
    /// Time from the first connection attempt to the last answer, milliseconds.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub last_ms: f64,
}

/// How some connections of a storm failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StormFailure {
    /// The name of the error, `EAGAIN`, or a description of what happened.
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
    /// Connections that failed, with any error.
    pub fn n_failed(&self) -> u64 {
        self.failed.iter().map(|it| it.connections).sum()
    }
}
