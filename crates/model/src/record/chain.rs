//! The programs that a page passes on this machine, from the web server to the last table: chains of hops.
//!
//! A part of what `looptax find` saw, beside its servers and clients.

use crate::stats::range::{Amount, Count, ProcessId, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Way};

/// Hops from one program to the servers at the end: `nginx -> php-fpm -> mariadbd`. If a program asks several
/// servers for a page, all of them are in one chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundChain {
    /// Its hops: each begins at the first program, or at a server of an earlier hop.
    pub hops: Vec<FoundHop>,
    /// Whether its first program is where requests come in, as far as is seen; else somebody asks it whose
    /// connections are gone, or are not seen.
    pub begins_here: bool,
    /// CPU time that TCP costs over all of its hops that have a figure, ms per second; `null` if none has one. Of a
    /// hop that other chains have too its share, and nothing if that is not known.
    pub cpu_ms_per_s: Option<Figure>,
    /// Servers over TCP that are not in that sum, since the cost of a request there was not measured: `http`.
    pub kinds_without_cost: Vec<String>,
    /// The same of requests that each have a separate connection.
    #[serde(default)]
    pub kinds_without_connection_cost: Vec<String>,
    /// Servers, by their process, to which connections over TCP were closed within the last minute that no process was
    /// seen to hold: a hop to them may be missing here.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Vec<ProcessId>")]
    pub may_miss: Vec<u32>,
}

/// The connections of one program, with its workers, to one server, of one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundHop {
    /// The process that stands for who asks; `null` where we do not see who that is.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub client_pid: Option<u32>,
    /// Its program's name.
    pub client: Option<String>,
    /// How many of its processes hold the connections that are open.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_processes: u64,
    /// The process of who is asked: a server of the list, a web server or a proxy.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub server_pid: u32,
    /// Its program's name.
    pub server: String,
    /// The kind of server; `null` for what only hands on: a web server or a proxy.
    pub kind: Option<String>,
    /// How they reach it.
    pub way: Way,
    /// Whether they were seen to be encrypted (TLS), all of those on which the server sent something.
    #[serde(default)]
    pub is_sealed: bool,
    /// Connections that are open.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_connections: u64,
    /// Connections that were seen between the two looks and are gone.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_passing: u64,
    /// Requests per second: all of them where the kernel counted, else those over the open ones, as segments with data.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// Connections over TCP that were closed per second between the two looks, each of one request or more.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub closed_per_s: Option<f64>,
    /// Connections that were opened per second; `null` where the kernel did not count.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub opened_per_s: Option<f64>,
    /// Whether other chains have it, too.
    #[serde(default)]
    pub is_shared: bool,
    /// This chain's part of a shared one, from 0 to 1, as its requests come in; `null` where that is not known, or
    /// the hop is only this chain's.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub share: Option<f64>,
    /// CPU time that TCP costs over the socket, ms per second, for all who share it: an estimate.
    pub cpu_ms_per_s: Option<Figure>,
    /// The places of what that was made of, in the list of cost sources.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Vec<Count>")]
    pub cost_from: Vec<usize>,
}
