//! One arm of a comparison: its address, the proof of its transport, its figures.
//!
//! The figures describe only this arm. [`crate::record::Tax`] has the arm's cost compared with another arm.

use crate::stats::range::{Amount, Count, ProcessId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Figure;

/// A transport to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// `unix`, `tcp`, `redirect`, ….
    pub name: String,
    /// The address that looptax connects to: a socket path, or `ip:port`; the addresses of several processes are joined
    /// by "or".
    pub endpoint: String,
    /// Whether looptax proved, for every connection, that the connection uses the transport in `name`.
    pub verified: bool,
    /// The result of the proof.
    pub proof: Proof,
    /// Requests answered per second.
    pub throughput_per_s: Figure,
    /// Latency of a request, µs.
    pub latency_us: Latency,
    /// Percentiles of all requests together, µs; they include every stall, however rare. `latency_us` describes
    /// typical periods instead.
    #[serde(default)]
    pub latency_pooled_us: Option<Pooled>,
    /// CPU time per request, µs.
    pub cpu_us_per_query: Cpu,
    /// Context switches of the client's threads per request.
    pub context_switches_per_query: Figure,
    /// System calls of the client per request, if they were counted.
    pub syscalls_per_query: Option<Syscalls>,
}

impl Arm {
    /// Returns the CPU time of both ends per request, µs; `None` if one of the two CPU times is not known.
    pub fn cpu_us_both(&self) -> Option<f64> {
        let cpu = &self.cpu_us_per_query;
        Some(cpu.client.known()?.value + cpu.server.known()?.value)
    }
}

/// Facts that looptax observed about an arm's connections.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Address family as the kernel reports it: `unix`, `inet`, `inet6`.
    pub family: String,
    /// The process at the other end, if the kernel shows it.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub peer_pid: Option<u32>,
    /// How the server itself describes the connection.
    pub server_view: Option<String>,
    /// The server's identity: uuid, data folder, system identifier, run id. If each arm has separate processes, the
    /// properties that these processes have in common.
    pub server_identity: Option<String>,
    /// TLS version and cipher; `null` without TLS.
    pub tls: Option<String>,
    /// Whether `TCP_NODELAY` is on; `null` for a connection that is not TCP.
    pub nodelay: Option<bool>,
    /// Send buffer, as the kernel reports it.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub sndbuf_bytes: Option<u64>,
    /// Receive buffer, as the kernel reports it.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub rcvbuf_bytes: Option<u64>,
    /// The network namespace: `net:[…]`.
    pub netns: Option<String>,
    /// Facts about the connections of the command that was run on the arm; `null` if looptax made the connections
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Sightings>,
}

/// Number of runs of the user's command, and for each transport the number of runs in which looptax saw a connection.
///
/// A run may use both transports. A run that ends before looptax can look at it is seen on neither transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sightings {
    /// Number of runs, including the runs of the warm-up.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_runs: u64,
    /// Number of runs with a connection over a Unix socket.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_unix: u64,
    /// Number of runs with a connection over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_tcp: u64,
}

/// A figure for each statistic of the latency, µs. In a tax, each figure is the other arm's latency minus the
/// baseline's latency.
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

/// Percentiles of all requests of an arm, µs. Their intervals treat requests as independent, which is not quite true.
/// Use these percentiles to describe one arm, not to compare two arms.
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

/// CPU time per request at each of the two ends, µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// CPU time of the load generator.
    pub client: Figure,
    /// CPU time of the server.
    pub server: Figure,
}

/// System calls per request, by purpose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Syscalls {
    /// Calls that send.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub send: f64,
    /// Calls that receive, including those that found no data.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub receive: f64,
    /// Calls that wait: poll, epoll.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub wait: f64,
}
