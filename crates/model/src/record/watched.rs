//! The counts of `looptax watch`: for each hop its client and server, its requests, and their times.
//!
//! This JSON form is separate from records of runs. All names in the form come from outside looptax.

use crate::stats::range::{Amount, Count, ProcessId, Version};
use crate::stats::{Times, TimesForm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Note, Way};

/// The version of the JSON that `watch` prints.
pub const WATCHED_SCHEMA_VERSION: u32 = 1;

/// A snapshot of a machine over some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    /// Version of this form: [`WATCHED_SCHEMA_VERSION`].
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of looptax that took the snapshot.
    pub looptax_version: String,
    /// Time at which the snapshot ended, with the offset to UTC.
    pub at: String,
    /// Length of the snapshot in seconds.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub over_s: f64,
    /// How busy the processors were, in percent of their time; `null` if the kernel does not report it.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub busy_pct: Option<f64>,
    /// The hops from client to server, the busiest first.
    pub hops: Vec<WatchedHop>,
    /// The addresses of the known servers, and the number of connections that wait there to be accepted; missing in
    /// files that an older version of looptax saved.
    #[serde(default)]
    pub queues: Vec<WatchedQueue>,
    /// Notes about requests that could not be counted.
    pub notes: Vec<Note>,
}

/// The requests from one service to another service at one address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedHop {
    /// The service that sends the requests; `null` for clients on other machines, or for clients whose addresses are
    /// rewritten on the way.
    pub client: Option<WatchedEnd>,
    /// Number of the client's processes that sent requests during the snapshot.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_processes: u64,
    /// The service that answers; `null` if looptax saw no process of this machine that answered.
    pub server: Option<WatchedEnd>,
    /// The kind of server, if it is known: `mariadb`.
    pub kind: Option<String>,
    /// The server's version, if its program file shows it.
    pub version: Option<String>,
    /// The transport from the client to the server.
    pub way: Way,
    /// The server's address: `127.0.0.1:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// Number of requests. A request begins with the client's first send after the client has received data, and ends
    /// when the client receives the answer. Several requests that the client sends together count as one request.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Requests per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Number of requests that began before the previous answer was received; such requests cannot be distinguished
    /// from each other.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_overlapping: u64,
    /// Times of the requests, from the arrival of a request at the server until the client had the answer; `null` if
    /// there were no requests. The client's own send call, which takes longer over TCP, is not included.
    pub times: Option<WatchedTimes>,
    /// The server's share of the times of the requests: from the server's first receive until the answer arrived at the
    /// client; `null` if there were no requests.
    pub served: Option<WatchedTimes>,
    /// The server's CPU time divided by the number of requests of all its clients; missing in files that an older
    /// version of looptax saved.
    #[serde(default)]
    pub server_cpu: Option<WatchedCpu>,
    /// The client's CPU time divided by the number of its requests to all servers; missing in files that an older
    /// version of looptax saved.
    #[serde(default)]
    pub client_cpu: Option<WatchedCpu>,
    /// Number of connections that were opened; over a Unix socket, only connections on which data was sent.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_opened: u64,
    /// Number of connections that were opened per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub opened_per_s: f64,
    /// How long new connections to this address waited until the server first received or sent data; other clients'
    /// connections to the address are included. The time starts when the connection is opened or, if its first request
    /// arrives later, when the request arrives. `null` if there were no new connections.
    #[serde(default)]
    pub accept_wait: Option<WatchedTimes>,
    /// Number of TCP connections that were closed; `null` over a Unix socket, for which the kernel does not report
    /// this.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub n_closed: Option<u64>,
    /// Number of bytes that were sent to the server.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_bytes_asked: u64,
    /// Number of bytes that the client received.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_bytes_answered: u64,
    /// The counts of each look (a part of the snapshot's time), in order of time, if these counts were saved; intervals
    /// are computed from these counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<WatchedLook>,
}

/// A listening socket of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedQueue {
    /// The server: `mariadbd`.
    pub server: String,
    /// The server's process id.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub pid: u32,
    /// The address on which the server listens: `0.0.0.0:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// Number of connections that waited to be accepted when the look ended; for several looks, the highest number.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_waiting: u64,
    /// The queue's backlog: the number that the server requested, limited by the kernel. One connection more may wait.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub backlog: u64,
}

/// The counts of a hop in one look, which is a part of the snapshot's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedLook {
    /// Length of the look in seconds.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub over_s: f64,
    /// Number of requests that ended during the look.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Number of bytes that were sent to the server.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_bytes_asked: u64,
    /// Number of bytes that the client received.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_bytes_answered: u64,
    /// Times of the requests; for clients on other machines, only the server's share of these times.
    #[schemars(with = "TimesForm")]
    pub times: Times,
}

/// CPU time of one end: of its processes and of all processes that they have started, but not of other servers and
/// clients. CPU time for any purpose is included, not only CPU time for requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedCpu {
    /// `cpu_s` divided by `n_requests`, in microseconds; `null` if the quotient would be misleading.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub us_per_request: Option<f64>,
    /// Seconds of CPU time, only from looks in which the CPU time is known.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub cpu_s: f64,
    /// Number of all requests that the server answered or the client made during the time of `cpu_s`; requests of other
    /// rows are included.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Why there is no CPU time per request; `null` if there is a figure.
    pub na: Option<String>,
}

/// Processes at one end of a hop that work together as one service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedEnd {
    /// The service's usual name: `php-fpm8.2 (pool www)`.
    pub program: String,
    /// The process that represents the service; `null` if all its processes that looptax saw have ended.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
    /// The user that the service runs as.
    pub user: Option<String>,
    /// The service's container or unit.
    pub home: Option<String>,
}

/// Times in microseconds. The quantiles are computed from buckets that are at most 6.3 % wide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedTimes {
    /// The arithmetic mean; it is exact.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub mean_us: f64,
    /// The median: half of the requests took less time.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub p50_us: f64,
    /// The 90th percentile: 90 % of the requests took less time.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub p90_us: f64,
    /// The 99th percentile: 99 % of the requests took less time.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub p99_us: f64,
}
