//! The result of `looptax fleet report` about many machines.
//!
//! A JSON form separate from records of runs. Every name in it was chosen by somebody else and arrived through a
//! collector.

use crate::stats::range::{Amount, Count, Probability, Real, UnixTime, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Estimate;

/// The version of what `fleet report` prints as JSON.
pub const FLEET_SCHEMA_VERSION: u32 = 1;

/// A fleet, according to the newest report of each machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Version of this form: [`FLEET_SCHEMA_VERSION`].
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of looptax that queried the collector.
    pub looptax_version: String,
    /// Time of the query, with the offset to UTC.
    pub at: String,
    /// Machines that reported within the last week.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts: u64,
    /// Machines with clients that use TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts_over_tcp: u64,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub tcp_requests_per_s: f64,
    /// CPU time that these requests cost more than over the socket; `null` if too little was measured.
    pub lost: Option<FleetLost>,
    /// Kinds of server that no machine measured; the kinds with the most requests come first. They are not in `lost`.
    pub not_measured: FleetList<FleetUnmeasured>,
    /// Programs and kinds of server over all machines; those that lose most come first.
    pub pairs: FleetList<FleetPair>,
    /// Clients of one machine; those whose move saves most come first.
    pub first: FleetList<FleetMove>,
    /// How much CPU time TCP adds to a request, by condition.
    pub effects: Vec<FleetEffects>,
    /// Machines whose own measurement differs from those of others with the same kind of server.
    pub unlike: FleetList<FleetUnlike>,
    /// The combinations of kernel and CPU in the fleet.
    pub conditions: FleetList<FleetCondition>,
    /// Clients that were switched to the socket and use TCP again.
    pub fell_back: FleetList<FleetFallen>,
    /// Clients of a server on one machine that use another transport than a week ago.
    pub movers: FleetList<FleetMover>,
    /// Machines from which nothing has arrived for two days.
    pub silent: FleetList<FleetSilent>,
}

/// The first rows of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetList<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Number of rows in all, in `rows` or not; in a very long list, the number of rows that were examined.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n: u64,
    /// Whether there are more than `n` rows, which were not examined.
    pub has_more_than_n: bool,
}

/// CPU time that a fleet loses by using TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetLost {
    /// Cores, with the 95 % interval; `n` is the number of servers in the sum.
    pub cores: Estimate,
    /// Servers on machines with their own measurement.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_measured: u64,
    /// Servers for which the measurements of other servers of their kind were used.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_predicted: u64,
    /// Standard error that comes from the errors of the measurements, in cores.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub error_of_measured: f64,
    /// Standard error that comes from differences between the servers that were not measured, in cores.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub error_of_predicted: f64,
    /// Standard error that comes from the errors of the kinds' means, in cores.
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
    /// Machines on which the program uses TCP to this kind of server.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts: u64,
    /// The machines among them on which that server has a socket.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts_with_socket: u64,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Cores lost, with the 95 % interval; `null` if no machine measured this kind of server.
    pub cores: Option<Estimate>,
}

/// A client of one machine that pays for TCP.
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
    /// Cores lost, with the 95 % interval; `null` if no machine measured this kind of server.
    pub cores: Option<Estimate>,
    /// Whether this machine's own measurement was used.
    pub is_measured: bool,
    /// Probability that this client is among the twenty that lose most, of all clients whose cost is known; `null` if
    /// its own cost is not.
    #[serde(default, deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub top_probability: Option<f64>,
}

/// How much CPU time TCP adds to a request, in groups of machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetEffects {
    /// The condition by which machines are grouped: `server`, `server version`, `kernel`, `cpu`, `virtualised`.
    pub condition: String,
    /// The groups, the largest first.
    pub groups: Vec<FleetGroup>,
    /// Number of groups that are left out; they are the smallest.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_more: u64,
    /// Probability that groups with equal means differ at least as much, adjusted for all conditions (Benjamini and
    /// Hochberg).
    #[serde(default, deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
}

/// Machines that have the same value of a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetGroup {
    /// The value that they have in common.
    pub label: String,
    /// CPU time that TCP adds to a request at both ends, in µs: the mean of the true effects with its 95 % interval;
    /// `n` is the number of measurements. For a single machine, its own measurement.
    pub cpu_us: Estimate,
    /// The interval for one more such machine; without ends if there are fewer than three.
    pub one_more: Estimate,
    /// τ: the spread of the true effects, in µs; `null` for a single machine.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub tau_us: Option<f64>,
    /// I²: the share of the variation between measurements that their errors do not explain, 0 to 1; `null` for a
    /// single machine.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub i_squared: Option<f64>,
}

/// A machine whose measurement differs from the others'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetUnlike {
    /// The machine's name.
    pub host: String,
    /// The server's kind.
    pub server: String,
    /// Its measurement, in µs of CPU time per request.
    pub cpu_us: Estimate,
    /// The mean of the measurements of its kind of server.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub mean_us: f64,
    /// Upper limit of the share of machines in this list that are there by chance (Benjamini and Hochberg), if the list
    /// is cut at this machine.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub q: f64,
}

/// Machines with the same kernel and CPU.
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

/// A client that was switched and uses TCP again.
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
    /// Clients that changed their transport.
    pub movers: FleetList<FleetMover>,
    /// Clients that were switched to the socket and use TCP again.
    pub fell_back: FleetList<FleetFallen>,
}

/// A program and a kind of server on one machine, between which the transport changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMover {
    /// The machine's name.
    pub host: String,
    /// The client's program.
    pub client: String,
    /// The server's kind.
    pub server: String,
    /// The transport a week ago: `socket`, `tcp`, or `both`.
    pub before: String,
    /// The transport now: `socket`, `tcp`, or `both`.
    pub now: String,
    /// `to socket` or `to tcp`.
    pub direction: String,
    /// Requests per second now.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// CPU time that the program saves now, in cores; `null` if it uses TCP, or if requests or costs are not known.
    #[serde(default)]
    pub cores: Option<Estimate>,
}

/// A machine from which no reports arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetSilent {
    /// The machine's name.
    pub host: String,
    /// Whole days since its last report arrived.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub days: u64,
}

/// A machine with clients that use TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetHost {
    /// Its name.
    pub host: String,
    /// Pairs of a program and a kind of server over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub pairs: u64,
    /// Connections over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Cores lost, with the 95 % interval; the kinds in `not_measured` are not included.
    pub cores: Option<Estimate>,
    /// Kinds of server that no machine measured; the kinds with the most requests come first.
    pub not_measured: Vec<String>,
}

/// One machine, according to its newest report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMachine {
    /// Its name.
    pub host: String,
    /// The machine's identifier, which it keeps when it is renamed.
    pub host_id: String,
    /// When the machine was examined, by its own clock: seconds since 1970.
    #[serde(deserialize_with = "UnixTime::read")]
    #[schemars(with = "UnixTime")]
    pub at_s: i64,
    /// When the report arrived, by the collector's clock.
    #[serde(deserialize_with = "UnixTime::read")]
    #[schemars(with = "UnixTime")]
    pub received_s: i64,
    /// The version of looptax that examined it.
    pub looptax: String,
    /// Kernel release and version.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub cpus: u64,
    /// Whether looptax could inspect every process; if not, clients are missing.
    pub sees_all: bool,
    /// Which client is connected to which server.
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
    /// The way of the connections: `unix`, `loopback`, and so on.
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
    /// Whether the client was switched to the socket and uses TCP again.
    pub fell_back: bool,
}

/// How much CPU time TCP adds to a request to one of the machine's servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMeasured {
    /// The server's kind.
    pub server: String,
    /// Its version.
    pub server_version: String,
    /// CPU time at both ends, in µs.
    pub cpu_us: Estimate,
}
