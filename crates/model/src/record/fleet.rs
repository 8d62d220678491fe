//! The result of `looptax fleet report` about many machines.
//!
//! Its own JSON, apart from records of runs. Every name in it was chosen by somebody else, and came through a collector.

use crate::stats::range::{Amount, Count, Probability, Real, UnixTime, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Estimate;

/// The version of what `fleet report` prints as JSON.
pub const FLEET_SCHEMA_VERSION: u32 = 1;

/// A fleet, as its newest reports say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Version of this form: [`FLEET_SCHEMA_VERSION`].
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// looptax that asked.
    pub looptax_version: String,
    /// When, with the offset to UTC.
    pub at: String,
    /// Machines that reported within a week.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts: u64,
    /// Machines with clients over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts_over_tcp: u64,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub tcp_requests_per_s: f64,
    /// CPU time that they cost more than over the socket; `null` where too little was measured.
    pub lost: Option<FleetLost>,
    /// Kinds of server that no machine measured, those with the most requests first: they are not in `lost`.
    pub not_measured: FleetList<FleetUnmeasured>,
    /// Programs and kinds of server over all machines, those first that lose most.
    pub pairs: FleetList<FleetPair>,
    /// Clients of one machine, in the order in which moving them pays.
    pub first: FleetList<FleetMove>,
    /// TCP's addition to a request, by condition.
    pub effects: Vec<FleetEffects>,
    /// Machines whose own measurement is unlike that of others with the same kind of server.
    pub unlike: FleetList<FleetUnlike>,
    /// The kinds of machines.
    pub conditions: FleetList<FleetCondition>,
    /// Clients that were switched to the socket and are over TCP again.
    pub fell_back: FleetList<FleetFallen>,
    /// Pairs of a machine that use another transport than a week ago.
    pub movers: FleetList<FleetMover>,
    /// Machines of which nothing arrived for two days.
    pub silent: FleetList<FleetSilent>,
}

/// The first rows of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetList<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// How many there are in all, in `rows` or not; of a very long list, how many were looked at.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n: u64,
    /// Whether there are more than `n`, which were not looked at.
    pub has_more_than_n: bool,
}

/// CPU time that a fleet loses over TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetLost {
    /// Cores, at 95 %; `n` the machines' servers that it is a sum over.
    pub cores: Estimate,
    /// Servers of machines with their own measurement.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_measured: u64,
    /// Servers that take what others of their kind predict.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_predicted: u64,
    /// Standard error from the measured ones' own errors, in cores.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub error_of_measured: f64,
    /// Standard error from differences between those that were not measured, in cores.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub error_of_predicted: f64,
    /// Standard error from the kinds' means, in cores.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub error_of_means: f64,
}

/// A kind of server that no machine measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetUnmeasured {
    /// The server's kind.
    pub server: String,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
}

/// A program and a kind of server, over all machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetPair {
    /// The client's program.
    pub client: String,
    /// The server's kind.
    pub server: String,
    /// Machines on which it goes over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts: u64,
    /// Of these, with a socket of that server.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts_with_socket: u64,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Cores lost, at 95 %; `null` where no machine measured this kind of server.
    pub cores: Option<Estimate>,
}

/// A client of one machine that pays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMove {
    /// The machine's name.
    pub host: String,
    /// The client's program.
    pub client: String,
    /// The server's kind.
    pub server: String,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Connections over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
    /// Whether the server has a socket.
    pub has_socket: bool,
    /// Cores lost, at 95 %; `null` where no machine measured this kind of server.
    pub cores: Option<Estimate>,
    /// Whether this machine measured it itself.
    pub is_measured: bool,
    /// How probably it is among the first twenty of those whose cost is known; `null` where its own is not.
    #[serde(default, deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub top_probability: Option<f64>,
}

/// TCP's addition to a request, in groups of machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetEffects {
    /// The condition that the groups are made by: `server`, `server version`, `kernel`, `cpu`, `virtualised`.
    pub condition: String,
    /// The groups, the largest first.
    pub groups: Vec<FleetGroup>,
    /// Groups that are left out: the smallest.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_more: u64,
    /// How often groups of the same mean are as far apart, adjusted for all conditions (Benjamini and Hochberg).
    #[serde(default, deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
}

/// Machines alike in a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetGroup {
    /// Their common property.
    pub label: String,
    /// CPU time that TCP adds to a request, both ends, in µs: the mean of true effects, at 95 %; `n` the measurements. Of
    /// a single machine, its own measurement.
    pub cpu_us: Estimate,
    /// The same of one more such machine; without ends below three.
    pub one_more: Estimate,
    /// τ: how much true effects differ, in µs; `null` of a single machine.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub tau_us: Option<f64>,
    /// I²: the share of the measurements' variation that is not their error, 0 to 1; `null` of a single machine.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub i_squared: Option<f64>,
}

/// A machine whose measurement is unlike the others'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetUnlike {
    /// The machine's name.
    pub host: String,
    /// The server's kind.
    pub server: String,
    /// Its measurement, in µs of CPU time per request.
    pub cpu_us: Estimate,
    /// The mean of its kind.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub mean_us: f64,
    /// The share of such machines in this list that is there by chance, at most (Benjamini and Hochberg).
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub q: f64,
}

/// Machines of the same kernel and CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetCondition {
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// `yes`, `no`, or empty.
    pub virtualised: String,
    /// Machines.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts: u64,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub tcp_requests_per_s: f64,
}

/// A client that was switched and is over TCP again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetFallen {
    /// The machine's name.
    pub host: String,
    /// The client's program.
    pub client: String,
    /// The server's kind.
    pub server: String,
    /// When it was seen, by the machine's own clock: seconds since 1970.
    #[serde(deserialize_with = "UnixTime::read")]
    #[schemars(with = "UnixTime")]
    pub at_s: i64,
    /// Connections over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
    /// Requests per second.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
}

/// The list of `fleet changes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMovers {
    /// Clients that changed their way.
    pub movers: FleetList<FleetMover>,
    /// Clients of a switch that are over TCP again.
    pub fell_back: FleetList<FleetFallen>,
}

/// A pair of a machine that uses another transport.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMover {
    /// The machine's name.
    pub host: String,
    /// The client's program.
    pub client: String,
    /// The server's kind.
    pub server: String,
    /// `socket`, `tcp`, or `both`.
    pub before: String,
    /// The same, now.
    pub now: String,
    /// `to socket` or `to tcp`.
    pub direction: String,
    /// Requests per second now.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// CPU time that it saves now, in cores; `null` where it goes over TCP, or requests or costs are not known.
    #[serde(default)]
    pub cores: Option<Estimate>,
}

/// A machine that is silent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetSilent {
    /// The machine's name.
    pub host: String,
    /// Whole days since its last report arrived.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub days: u64,
}

/// A machine with clients over TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetHost {
    /// Its name.
    pub host: String,
    /// Pairs of a program and a kind of server over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub pairs: u64,
    /// Their connections.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
    /// Their requests per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Cores lost, at 95 %, without the kinds in `not_measured`.
    pub cores: Option<Estimate>,
    /// Kinds of server that no machine measured, those with the most requests first.
    pub not_measured: Vec<String>,
}

/// One machine, as its newest report says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMachine {
    /// Its name.
    pub host: String,
    /// Its number, which it keeps when it is renamed.
    pub host_id: String,
    /// When it was looked at, by its own clock: seconds since 1970.
    #[serde(deserialize_with = "UnixTime::read")]
    #[schemars(with = "UnixTime")]
    pub at_s: i64,
    /// When the report arrived, by the collector's clock.
    #[serde(deserialize_with = "UnixTime::read")]
    #[schemars(with = "UnixTime")]
    pub received_s: i64,
    /// looptax that looked.
    pub looptax: String,
    /// Kernel release and version.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub cpus: u64,
    /// Whether every process could be looked into; else clients are missing.
    pub sees_all: bool,
    /// Who is connected to which server.
    pub findings: Vec<FleetFinding>,
    /// Its measurements.
    pub measured: Vec<FleetMeasured>,
}

/// A client and a server of one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetFinding {
    /// The client's program.
    pub client: String,
    /// The user that it runs as.
    pub client_user: String,
    /// The server's kind.
    pub server: String,
    /// `unix`, `loopback`, and so on.
    pub way: String,
    /// Connections.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
    /// Requests per second.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// Whether the server has a socket.
    pub has_socket: bool,
    /// Whether it was switched to the socket and is over TCP again.
    pub fell_back: bool,
}

/// TCP's addition to a request of a machine's server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMeasured {
    /// The server's kind.
    pub server: String,
    /// Its version.
    pub server_version: String,
    /// CPU time, both ends, in µs.
    pub cpu_us: Estimate,
}
