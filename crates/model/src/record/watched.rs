//! The counts of `looptax watch`: the client and server of each hop, the requests, and their times.
//!
//! Its own JSON, apart from records of runs. Every name in it was chosen by somebody else.

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
    /// looptax that looked.
    pub looptax_version: String,
    /// When the look ended, with the offset to UTC.
    pub at: String,
    /// Seconds that it counted.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub over_s: f64,
    /// Of the processors' time meanwhile, percent that anything ran in; `null` where the kernel does not say.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub busy_pct: Option<f64>,
    /// The hops from client to server, the busiest first.
    pub hops: Vec<WatchedHop>,
    /// The addresses of the known servers, and the connections that wait there to be accepted; absent in files that an
    /// older looptax kept.
    #[serde(default)]
    pub queues: Vec<WatchedQueue>,
    /// Notes about requests that could not be counted.
    pub notes: Vec<Note>,
}

/// The requests of one service to another at one address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedHop {
    /// Who asks; `null` for clients that are not on this machine, or whose addresses are rewritten on the way.
    pub client: Option<WatchedEnd>,
    /// The client's processes that asked meanwhile.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_processes: u64,
    /// Who answers; `null` where no process of this machine was seen to.
    pub server: Option<WatchedEnd>,
    /// The kind of server, where it is known: `mariadb`.
    pub kind: Option<String>,
    /// Its version, where its program tells.
    pub version: Option<String>,
    /// How the client reaches it.
    pub way: Way,
    /// `127.0.0.1:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// Requests: a client's first send after it has received, until it receives the answer. Several that it sends at once are
    /// one.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Those per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Of these, how many began before the answer to the one before was received: requests are not told apart there.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_overlapping: u64,
    /// How long they took, from their arrival at the server until the client had the answer; `null` without any. The
    /// client's own send is not in it, which is longer over TCP.
    pub times: Option<WatchedTimes>,
    /// The server's part: from its first receive until its answer arrived at the client; `null` without any.
    pub served: Option<WatchedTimes>,
    /// CPU time of the server for each request that it answered, to whichever client; absent in what an older looptax kept.
    #[serde(default)]
    pub server_cpu: Option<WatchedCpu>,
    /// CPU time of the client for each request that it made, to whichever server; absent in what an older looptax kept.
    #[serde(default)]
    pub client_cpu: Option<WatchedCpu>,
    /// Connections that were opened; over a Unix socket those that something was sent on.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_opened: u64,
    /// Those per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub opened_per_s: f64,
    /// How long new connections to this address waited, those of other clients, too, until the server first received or
    /// sent: since they were opened, or since their first request arrived, if that was later; `null` without any.
    #[serde(default)]
    pub accept_wait: Option<WatchedTimes>,
    /// TCP connections that were closed; `null` over a Unix socket, where the kernel does not tell.
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
    /// The same look by look, in the order of time, where it was saved: what an interval rests on.
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
    /// Connections that waited to be accepted when the look ended; of several looks, the most.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_waiting: u64,
    /// Most that may wait, as the server asked for it and the kernel allows.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub backlog: u64,
}

/// The counts of a hop in one of several looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedLook {
    /// Seconds that it counted.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub over_s: f64,
    /// Requests that ended in it.
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
    /// How long they took; of clients that are not on this machine the server's part.
    #[schemars(with = "TimesForm")]
    pub times: Times,
}

/// CPU time of one end's processes and of all that they have started, except for other servers and clients, whatever
/// they used it for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedCpu {
    /// `cpu_s` divided by `n_requests`, in microseconds; `null` where that would not be true.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub us_per_request: Option<f64>,
    /// Seconds of CPU time in the looks in which it is known.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub cpu_s: f64,
    /// All requests that the server answered, or the client made, in these looks: those of other rows, too.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Why there is none.
    pub na: Option<String>,
}

/// Processes at one end that work as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedEnd {
    /// Its usual name: `php-fpm8.2 (pool www)`.
    pub program: String,
    /// The process that stands for it; `null` where all that we saw of it have ended.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
    /// The user that it runs as.
    pub user: Option<String>,
    /// Its container or service.
    pub home: Option<String>,
}

/// Times in microseconds. Quantiles are those of buckets that are at most 6.3 % wide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedTimes {
    /// Arithmetic mean, exact.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub mean_us: f64,
    /// Half of them took less.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub p50_us: f64,
    /// 90 % took less.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub p90_us: f64,
    /// 99 % took less.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub p99_us: f64,
}
