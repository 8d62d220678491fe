//! The chains of hops: the programs through which a request for a page passes on this machine, from the web server to
//! the database.
//!
//! `looptax find` reports the chains together with the servers and clients that it found.

use crate::stats::range::{Amount, Count, ProcessId, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Way};

/// The hops from the first program to the last servers: `nginx -> php-fpm -> mariadbd`. If a program sends requests to
/// several servers for one page, all these servers are in the same chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundChain {
    /// The chain's hops: each hop begins at the first program, or at the server of an earlier hop.
    pub hops: Vec<FoundHop>,
    /// Whether requests enter the machine at the first program, as far as looptax sees; `false` if the program has
    /// clients on this machine whose connections have been closed or cannot be seen.
    pub begins_here: bool,
    /// CPU time that TCP costs over the chain's hops, ms per second; `null` if no hop has a figure. If other chains
    /// contain a hop too, only this chain's share of the hop counts; if this share is not known, the hop does not
    /// count.
    pub cpu_ms_per_s: Option<Figure>,
    /// Kinds of servers over TCP that are not in `cpu_ms_per_s`, because the cost of a request was not measured:
    /// `http`.
    pub kinds_without_cost: Vec<String>,
    /// Kinds of servers that are not in `cpu_ms_per_s`, because the cost of a request with its own connection was not
    /// measured.
    #[serde(default)]
    pub kinds_without_connection_cost: Vec<String>,
    /// Process ids of servers that may belong to this chain although the chain has no hop to them: TCP connections to
    /// these servers were closed within the last minute, and looptax did not see which process held them.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Vec<ProcessId>")]
    pub may_miss: Vec<u32>,
}

/// The connections of one program (with its workers) to one server, all over the same transport.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundHop {
    /// The process that represents the client; `null` if looptax cannot see the client.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub client_pid: Option<u32>,
    /// Name of the client's program.
    pub client: Option<String>,
    /// Number of the client's processes that hold the open connections.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_processes: u64,
    /// The process that receives the requests: a listed server, a web server or a proxy.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub server_pid: u32,
    /// Name of the server's program.
    pub server: String,
    /// The kind of server; `null` for a program that only passes requests on: a web server or a proxy.
    pub kind: Option<String>,
    /// How the connections reach the server.
    pub way: Way,
    /// Whether all connections on which the server sent something were seen to be encrypted (TLS).
    #[serde(default)]
    pub is_sealed: bool,
    /// Number of open connections.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_connections: u64,
    /// Number of connections that were seen between the two snapshots and were closed before the second snapshot.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_passing: u64,
    /// Requests per second. If the kernel counted the requests, this is the number of all requests; otherwise, the
    /// number of segments with data on the open connections.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// TCP connections that were closed per second between the two snapshots; each connection carried at least one
    /// request.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub closed_per_s: Option<f64>,
    /// Connections that were opened per second; `null` if the kernel did not count the connections.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub opened_per_s: Option<f64>,
    /// Whether other chains contain this hop, too.
    #[serde(default)]
    pub is_shared: bool,
    /// If other chains contain the hop too: this chain's share of the hop, from 0 to 1. The share is computed from the
    /// chains' incoming requests. `null` if the share is not known, or if only this chain contains the hop.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub share: Option<f64>,
    /// Estimate of the additional CPU time that TCP costs compared with the socket, ms per second, for all chains that
    /// share the hop.
    pub cpu_ms_per_s: Option<Figure>,
    /// Indexes in `cost_sources` of the measurements from which `cpu_ms_per_s` was computed.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Vec<Count>")]
    pub cost_from: Vec<usize>,
}
