//! The counts of `looptax watch`: the client and server of each hop, the requests, and their times.
//!
//! A JSON form separate from records of runs. Every name in it was chosen by somebody else.

use crate::stats::range::{Amount, Count, ProcessId, Version};
use crate::stats::{Times, TimesForm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Note, Way};

/// The version of what `watch` prints as JSON.
pub const WATCHED_SCHEMA_VERSION: u32 = 1;

/// One look at a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    /// Version of this form: [`WATCHED_SCHEMA_VERSION`].
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of looptax that looked.
    pub looptax_version: String,
    /// When the look ended, with the offset to UTC.
    pub at: String,
    /// Length of the look in seconds.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub over_s: f64,
    /// Percent of the processors' time in which something ran; `null` if the kernel does not report it.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub busy_pct: Option<f64>,
    /// The hops from client to server, the busiest first.
    pub hops: Vec<WatchedHop>,
    /// The addresses of the known servers, and the connections that wait there to be accepted; missing in files that an
    /// older looptax kept.
    #[serde(default)]
    pub queues: Vec<WatchedQueue>,
    /// Notes about requests that could not be counted.
    pub notes: Vec<Note>,
}

/// The requests from one service to another at one address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedHop {
    /// The service that sends the requests; `null` for clients that are not on this machine, or whose addresses are
    /// rewritten on the way.
    pub client: Option<WatchedEnd>,
    /// Number of the client's processes that sent requests during the look.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_processes: u64,
    /// The service that answers; `null` if no process of this machine was seen to answer.
    pub server: Option<WatchedEnd>,
    /// The kind of server, if known: `mariadb`.
    pub kind: Option<String>,
    /// Its version, if its program shows it.
    pub version: Option<String>,
    /// How the client reaches it.
    pub way: Way,
    /// `127.0.0.1:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// Number of requests. A request lasts from a client's first send after it has received until it receives the
    /// answer; several that it sends together count as one.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Requests per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// How many of the requests began before the previous answer was received; such requests cannot be told apart.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_overlapping: u64,
    /// Times of the requests, from their arrival at the server until the client had the answer; `null` without
    /// requests. The client's own send, which takes longer over TCP, is not included.
    pub times: Option<WatchedTimes>,
    /// The server's part of these times: from its first receive until its answer arrived at the client; `null` without
    /// requests.
    pub served: Option<WatchedTimes>,
    /// CPU time of the server for each request that it answered, for all its clients together; missing in files that an
    /// older looptax kept.
    #[serde(default)]
    pub server_cpu: Option<WatchedCpu>,
    /// CPU time of the client for each request that it made, to all servers together; missing in files that an older
    /// looptax kept.
    #[serde(default)]
    pub client_cpu: Option<WatchedCpu>,
    /// Connections that were opened; over a Unix socket, only those on which something was sent.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_opened: u64,
    /// Connections that were opened per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub opened_per_s: f64,
    /// How long new connections to this address, including those of other clients, waited until the server first
    /// received or sent. The time counts from the opening of the connection, or from the arrival of its first request,
    /// if that was later; `null` without new connections.
    #[serde(default)]
    pub accept_wait: Option<WatchedTimes>,
    /// TCP connections that were closed; `null` over a Unix socket, for which the kernel does not report it.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub n_closed: Option<u64>,
    /// The bytes that were sent to the server.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_bytes_asked: u64,
    /// The bytes that the client received.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_bytes_answered: u64,
    /// The same counts for each look, in the order of time, if they were saved; intervals are computed from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<WatchedLook>,
}

/// A listening socket of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedQueue {
    /// The server: `mariadbd`.
    pub server: String,
    /// Its process.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub pid: u32,
    /// Where it listens: `0.0.0.0:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// Connections that waited to be accepted when the look ended; over several looks, the highest number.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_waiting: u64,
    /// The most connections that may wait: what the server requested and the kernel allows.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub backlog: u64,
}

/// The counts of a hop in one of several looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedLook {
    /// Length of the look in seconds.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub over_s: f64,
    /// Requests that ended in the look.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// The bytes that were sent to the server.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_bytes_asked: u64,
    /// The bytes that the client received.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_bytes_answered: u64,
    /// Times of the requests; for clients that are not on this machine, the server's part of them.
    #[schemars(with = "TimesForm")]
    pub times: Times,
}

/// CPU time of the processes at one end and of all processes that they have started, except other servers and clients,
/// whatever it was used for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedCpu {
    /// `cpu_s` divided by `n_requests`, in microseconds; `null` if that quotient would be misleading.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub us_per_request: Option<f64>,
    /// Seconds of CPU time in the looks in which the CPU time is known.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub cpu_s: f64,
    /// All requests in these looks that the server answered or the client made, including those of other rows.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Why there is no CPU time per request.
    pub na: Option<String>,
}

/// Processes at one end that work together as one service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedEnd {
    /// Its usual name: `php-fpm8.2 (pool www)`.
    pub program: String,
    /// The process that represents it; `null` if all processes that looptax saw have ended.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
    /// The user that it runs as.
    pub user: Option<String>,
    /// Its container or service.
    pub home: Option<String>,
}

/// Times in microseconds. The quantiles come from buckets that are at most 6.3 % wide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedTimes {
    /// Arithmetic mean, exact.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub mean_us: f64,
    /// Half of the requests took less.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub p50_us: f64,
    /// 90 % of the requests took less.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub p90_us: f64,
    /// 99 % of the requests took less.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub p99_us: f64,
}
