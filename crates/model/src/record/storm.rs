//! The result of connection storms, in which many connections are opened within a short time: how many connections
//! failed over each transport, and how long the last answer took.
//!
//! This part of a record is separate from the record's comparisons, because a storm has no epochs and no requests.

use crate::stats::range::{Count, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Hex64;

/// The storms against one server; the connections are opened as one real client opens them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storms {
    /// The server: `private:mariadb`.
    pub target: String,
    /// The server's version.
    pub version: String,
    /// The seed for the order of the arms.
    pub seed: Hex64,
    /// The client that was imitated; the connections were opened as this client opens them: `mysqlnd`.
    pub client: String,
    /// The client's name in a sentence: "PHP's mysqlnd".
    pub library: String,
    /// The program that was traced to learn how the client connects, with the versions of the program.
    pub seen: String,
    /// Time for which the server was stopped, ms; 0 if it was not stopped.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub stall_ms: f64,
    /// Number of connection attempts per second; `null` if all attempts began at the same time.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub rate_per_s: Option<f64>,
    /// Length of the queues of the socket and of the port, as passed to listen(2). A queue can hold one connection more
    /// than this number.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub queue: u32,
    /// `net.core.somaxconn`, the upper limit of every queue; `null` if it cannot be read.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub somaxconn: Option<u32>,
    /// The setting that makes the server's queues longer, as text: "set `back_log`".
    pub setting: String,
    /// The storms for each number of connections.
    pub sizes: Vec<StormSize>,
}

/// The storms with one number of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormSize {
    /// Number of connections in each storm.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub connections: u32,
    /// The storms of each arm.
    pub arms: Vec<StormArm>,
    /// The length of the shortest queue with which no connection over the socket failed in [`Self::tries_of_queue`]
    /// storms. `null` if looptax did not search for this length, or if connections failed with every queue.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub smallest_queue: Option<u32>,
    /// Number of storms for each length of the queue that was tried.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub tries_of_queue: u32,
}

/// The storms of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormArm {
    /// `unix` or `tcp`.
    pub arm: String,
    /// Failed connection attempts, percent of all attempts: the value and the two ends of its 95 % interval.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Real; 3]")]
    pub failed_pct: [f64; 3],
    /// The storms in the order in which they were made.
    pub storms: Vec<Storm>,
}

/// One storm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storm {
    /// Number of connections that the server answered.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub served: u64,
    /// Number of the served connections that were answered late. An answer is late if it came more than half a second
    /// after the later of two moments: the start of the connection attempt, and the moment at which the server ran
    /// again.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub late: u64,
    /// Number of connections that were not answered, for each error.
    pub failed: Vec<StormFailure>,
    /// Time from the first connection attempt to the last answer, ms.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub last_ms: f64,
}

/// Connections of a storm that failed with the same error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StormFailure {
    /// The name of the error, such as `EAGAIN`, or a description of what happened.
    pub error: String,
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
}

impl StormArm {
    /// Returns the number of connections that failed in all storms of the arm.
    pub fn n_failed(&self) -> u64 {
        self.storms.iter().map(Storm::n_failed).sum()
    }
}

impl Storm {
    /// Returns the number of connections that failed, with any error.
    pub fn n_failed(&self) -> u64 {
        self.failed.iter().map(|it| it.connections).sum()
    }
}
