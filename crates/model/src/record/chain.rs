//! The programs that a request for a page passes through on this machine, from the web server to the database: chains
//! of hops.
//!
//! A part of what `looptax find` saw, beside its servers and clients.

use crate::stats::range::{Amount, Count, ProcessId, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Way};

/// Hops from the first program to the last servers: `nginx -> php-fpm -> mariadbd`. If a program sends requests to
/// several servers for one page, all of them are in one chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundChain {
    /// Its hops: each begins at the first program, or at a server of an earlier hop.
    pub hops: Vec<FoundHop>,
    /// Whether requests enter the machine at the first program, as far as looptax sees; `false` if the program has
    /// clients here whose connections are gone or cannot be seen.
    pub begins_here: bool,
    /// CPU time that TCP costs over the chain's hops, ms per second; `null` if no hop has a figure. Of a hop that other
    /// chains contain too, only this chain's share counts, and nothing if the share is not known.
    pub cpu_ms_per_s: Option<Figure>,
    /// Kinds of servers over TCP that are not in `cpu_ms_per_s`, since the cost of a request was not measured: `http`.
    pub kinds_without_cost: Vec<String>,
    /// Kinds that are not in `cpu_ms_per_s`, since the cost of a request with its own connection was not measured.
    #[serde(default)]
    pub kinds_without_connection_cost: Vec<String>,
    /// Process ids of servers whose TCP connections were closed within the last minute without any process being seen
    /// to hold them: a hop to these servers may be missing here.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Vec<ProcessId>")]
    pub may_miss: Vec<u32>,
}

/// The connections of one program, with its workers, to one server, over one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundHop {
    /// The process that represents the client; `null` if the client cannot be seen.
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
    /// Whether they were seen to be encrypted (TLS), all of those on which the server sent something.
    #[serde(default)]
    pub is_sealed: bool,
    /// Connections that are open.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_connections: u64,
    /// Connections that were seen between the two looks and are gone at the second.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_passing: u64,
    /// Requests per second: all of them if the kernel counted; if not, segments with data on the open connections.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// TCP connections that were closed per second between the two looks; each carried at least one request.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub closed_per_s: Option<f64>,
    /// Connections that were opened per second; `null` if the kernel did not count them.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub opened_per_s: Option<f64>,
    /// Whether other chains contain this hop, too.
    #[serde(default)]
    pub is_shared: bool,
    /// This chain's share of a hop that other chains contain too, from 0 to 1, by its incoming requests; `null` if not
    /// known, or if only this chain contains the hop.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub share: Option<f64>,
    /// CPU time that TCP costs over the socket, ms per second, for all chains that share the hop: an estimate.
    pub cpu_ms_per_s: Option<Figure>,
    /// Indexes in `cost_sources` of the measurements behind `cpu_ms_per_s`.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Vec<Count>")]
    pub cost_from: Vec<usize>,
}
