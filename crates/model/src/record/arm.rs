//! One arm of a comparison: its address, the proof of it, its figures.
//!
//! The figures are those of the arm only; its cost over another is in [`crate::record::Tax`].

use crate::stats::range::{Amount, Count, ProcessId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Figure;

/// One way to reach the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// `unix`, `tcp`, `redirect`, ….
    pub name: String,
    /// The address that is connected to: a socket path, or `ip:port`; of several processes joined by "or".
    pub endpoint: String,
    /// Whether every connection was proved to be what the name says.
    pub verified: bool,
    /// The result of the proof.
    pub proof: Proof,
    /// Requests answered per second.
    pub throughput_per_s: Figure,
    /// Latency of a request, µs.
    pub latency_us: Latency,
    /// Percentiles of all requests together, µs: stalls stay in them, however rare. Above are those of
    /// typical stretches of time.
    #[serde(default)]
    pub latency_pooled_us: Option<Pooled>,
    /// CPU time per request, µs.
    pub cpu_us_per_query: Cpu,
    /// Context switches of the client's threads per request.
    pub context_switches_per_query: Figure,
    /// System calls of the client per request, where they were counted.
    pub syscalls_per_query: Option<Syscalls>,
}

impl Arm {
    /// CPU time of both ends per request, µs; `None` where one of the two is not known.
    pub fn cpu_us_both(&self) -> Option<f64> {
        let cpu = &self.cpu_us_per_query;
        Some(cpu.client.known()?.value + cpu.server.known()?.value)
    }
}

/// Facts about an arm's connections that were found, not assumed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Address family as the kernel states it: `unix`, `inet`, `inet6`.
    pub family: String,
    /// The process at the other end, where the kernel tells.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub peer_pid: Option<u32>,
    /// How the server itself sees the connection.
    pub server_view: Option<String>,
    /// The identity of this server: uuid, data folder, system identifier, run id. If
    /// each arm has separate processes: the properties that they share.
    pub server_identity: Option<String>,
    /// TLS version and cipher; `null` = none.
    pub tls: Option<String>,
    /// Whether `TCP_NODELAY` is on; `null` where it does not apply.
    pub nodelay: Option<bool>,
    /// Send buffer as the kernel states it.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub sndbuf_bytes: Option<u64>,
    /// Receive buffer as the kernel states it.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub rcvbuf_bytes: Option<u64>,
    /// The network namespace, as `net:[…]`.
    pub netns: Option<String>,
    /// Facts about a whole command's own connections; `null` if looptax made them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Sightings>,
}

/// In how many runs of a whole command a connection was seen, and over which transport.
///
/// A run may be seen on both, or on neither when it is too short to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sightings {
    /// Runs, those of the warm-up included.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_runs: u64,
    /// Of these, seen on a Unix socket.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_unix: u64,
    /// Of these, seen on TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_tcp: u64,
}

/// One figure per statistic of latency, µs. In a tax: the other arm minus the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Mean.
    pub mean: Figure,
    /// Median.
    pub p50: Figure,
    /// 90th percentile.
    pub p90: Figure,
    /// 99th percentile.
    pub p99: Figure,
    /// 99.9th percentile.
    pub p999: Figure,
}

/// Percentiles of all requests of an arm, µs. Their intervals take requests as independent, which they
/// are not quite: for looking at an arm, not for comparing two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pooled {
    /// Median.
    pub p50: Figure,
    /// 90th percentile.
    pub p90: Figure,
    /// 99th percentile.
    pub p99: Figure,
    /// 99.9th percentile.
    pub p999: Figure,
}

/// CPU time per request of the two ends, µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// The load generator's.
    pub client: Figure,
    /// The server's.
    pub server: Figure,
}

/// System calls per request, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Syscalls {
    /// Calls that send.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub send: f64,
    /// Calls that receive, those that found nothing included.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub receive: f64,
    /// Calls that wait: poll, epoll.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub wait: f64,
}
