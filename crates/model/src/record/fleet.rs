//! The results of `looptax fleet report` and similar commands, about many machines.
//!
//! A JSON form separate from records of runs. Every name in this form was chosen by other people, and arrived through a
//! collector.

use crate::stats::range::{Amount, Count, Probability, Real, UnixTime, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Estimate;

/// The version of the JSON that `fleet report` prints.
pub const FLEET_SCHEMA_VERSION: u32 = 1;

/// A fleet as the newest report of each machine shows it.
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
    /// Number of machines that sent a report within the last week.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts: u64,
    /// Number of machines with clients that use TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts_over_tcp: u64,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub tcp_requests_per_s: f64,
    /// CPU time that these requests cost over TCP in addition to their cost over the socket; `null` if too little was
    /// measured.
    pub lost: Option<FleetLost>,
    /// Kinds of server that no machine measured, sorted by requests: the kind with the most requests comes first. These
    /// kinds are not in `lost`.
    pub not_measured: FleetList<FleetUnmeasured>,
    /// Pairs of a client's program and a kind of server, over all machines, sorted by loss, the largest first.
    pub pairs: FleetList<FleetPair>,
    /// One row for each client on each machine, sorted by the CPU time that a move to the socket saves, the largest first.
    pub first: FleetList<FleetMove>,
    /// How much CPU time TCP adds to a request, for machines grouped by each condition.
    pub effects: Vec<FleetEffects>,
    /// Machines whose own measurement differs from the measurements of other machines with the same kind of server.
    pub unlike: FleetList<FleetUnlike>,
    /// The combinations of kernel and CPU in the fleet.
    pub conditions: FleetList<FleetCondition>,
    /// Clients that were switched to the socket and use TCP again.
    pub fell_back: FleetList<FleetFallen>,
    /// Clients whose transport to a server on their machine is not the same as a week ago.
    pub movers: FleetList<FleetMover>,
    /// Machines whose last report arrived more than two days ago.
    pub silent: FleetList<FleetSilent>,
    /// Machines that have different names and the same number, and reported in turn within three days.
    pub shared: FleetList<FleetShared>,
}

/// The first rows of a list, and the list's length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetList<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Number of rows in the whole list; for a very long list, the number of rows that were examined.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n: u64,
    /// Whether the list has more than `n` rows; the rows after `n` were not examined.
    pub has_more_than_n: bool,
}

/// CPU time that a fleet loses because clients use TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetLost {
    /// Number of cores lost, with the 95 % interval; its `n` is the number of servers in the sum.
    pub cores: Estimate,
    /// Number of servers whose loss was computed from their own machine's measurement.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_measured: u64,
    /// Number of servers whose loss was computed from measurements of other servers of the same kind.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_predicted: u64,
    /// Standard error of the sum, in cores, that comes from the errors of the measurements.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub error_of_measured: f64,
    /// Standard error of the sum, in cores, that comes from differences between the servers that were not measured.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub error_of_predicted: f64,
    /// Standard error of the sum, in cores, that comes from the errors of the means of the kinds.
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

/// A client's program and a kind of server, over all machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetPair {
    /// The client's program.
    pub client: String,
    /// The server's kind.
    pub server: String,
    /// Number of machines on which the program uses TCP to this kind of server.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts: u64,
    /// Number of machines in `hosts` on which this kind of server also has a socket.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub hosts_with_socket: u64,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Number of cores lost, with the 95 % interval; `null` if no machine measured this kind of server.
    pub cores: Option<Estimate>,
}

/// A client on one machine that uses TCP.
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
    /// Number of connections over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
    /// Whether the server has a socket.
    pub has_socket: bool,
    /// Number of cores lost, with the 95 % interval; `null` if no machine measured this kind of server.
    pub cores: Option<Estimate>,
    /// Whether `cores` was computed from this machine's own measurement.
    pub is_measured: bool,
    /// Probability that this client is among the twenty clients with the largest loss, of all clients whose loss is
    /// known; `null` if this client's loss is not known.
    #[serde(default, deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub top_probability: Option<f64>,
}

/// How much CPU time TCP adds to a request, for groups of machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetEffects {
    /// The condition by which machines are grouped: `server`, `server version`, `kernel`, `cpu`, `virtualised`.
    pub condition: String,
    /// The groups, sorted by size, the largest first.
    pub groups: Vec<FleetGroup>,
    /// Number of groups that are left out because they are the smallest.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_more: u64,
    /// Probability that the groups would differ at least as much as they do if their means were equal, adjusted for the
    /// number of conditions (Benjamini and Hochberg).
    #[serde(default, deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
}

/// Machines that have the same value of a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetGroup {
    /// The value of the condition on these machines.
    pub label: String,
    /// CPU time that TCP adds to a request, both ends together, in µs. For several machines: the mean of the true
    /// effects with the mean's 95 % interval; `n` is the number of measurements. For a single machine: the machine's
    /// own measurement.
    pub cpu_us: Estimate,
    /// The prediction interval for one more machine of this group; it has no ends if the group has fewer than three
    /// machines.
    pub one_more: Estimate,
    /// τ: the spread of the true effects, in µs; `null` for a single machine.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub tau_us: Option<f64>,
    /// I²: the share of the variation between measurements that the errors of the measurements do not explain, from 0
    /// to 1; `null` for a single machine.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub i_squared: Option<f64>,
}

/// A machine whose measurement differs from the measurements of the other machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetUnlike {
    /// The machine's name.
    pub host: String,
    /// The server's kind.
    pub server: String,
    /// The machine's measurement, in µs of CPU time per request.
    pub cpu_us: Estimate,
    /// The mean of the measurements of this kind of server, in µs.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub mean_us: f64,
    /// Upper limit of the share of machines that are in the list only by chance, if the list ends after this machine
    /// (Benjamini and Hochberg).
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
    /// Whether the machines are virtual: `yes`, `no`, or empty if it is not known.
    pub virtualised: String,
    /// Number of machines.
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
    /// When the client was seen to use TCP, by the machine's own clock, in seconds since 1970.
    #[serde(deserialize_with = "UnixTime::read")]
    #[schemars(with = "UnixTime")]
    pub at_s: i64,
    /// Number of connections over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
    /// Requests per second.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
}

/// The result of `fleet changes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMovers {
    /// Clients that changed their transport.
    pub movers: FleetList<FleetMover>,
    /// Clients that were switched to the socket and use TCP again.
    pub fell_back: FleetList<FleetFallen>,
}

/// A program and a kind of server on the same machine; the transport between the two has changed.
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
    /// The direction of the change: `to socket` or `to tcp`.
    pub direction: String,
    /// Requests per second now.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// CPU time that the program saves now, in cores; `null` if the program uses TCP, or if its requests or their cost
    /// are not known.
    #[serde(default)]
    pub cores: Option<Estimate>,
}

/// A machine from which no reports arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetSilent {
    /// The machine's name.
    pub host: String,
    /// Number of whole days since the machine's last report arrived.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub days: u64,
}

/// A machine whose number another machine has too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetShared {
    /// The number: a keyed hash of `/etc/machine-id`.
    pub host_id: String,
    /// A name that the reports with this number have.
    pub host: String,
    /// Number of reports with this name within three days.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub reports: u64,
}

/// A machine with clients that use TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetHost {
    /// The machine's name.
    pub host: String,
    /// Number of pairs of a program and a kind of server that use TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub pairs: u64,
    /// Number of connections over TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub connections: u64,
    /// Requests per second over TCP.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Number of cores lost, with the 95 % interval; the kinds in `not_measured` are not included.
    pub cores: Option<Estimate>,
    /// Kinds of server that no machine measured, sorted by requests: the kind with the most requests comes first.
    pub not_measured: Vec<String>,
}

/// A machine as its newest report shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetMachine {
    /// The machine's name.
    pub host: String,
    /// The machine's identifier, which does not change when the machine is renamed.
    pub host_id: String,
    /// When the machine was examined, by the machine's own clock, in seconds since 1970.
    #[serde(deserialize_with = "UnixTime::read")]
    #[schemars(with = "UnixTime")]
    pub at_s: i64,
    /// When the report arrived, by the collector's clock, in seconds since 1970.
    #[serde(deserialize_with = "UnixTime::read")]
    #[schemars(with = "UnixTime")]
    pub received_s: i64,
    /// The version of looptax that examined the machine.
    pub looptax: String,
    /// Kernel release and version.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// Number of CPUs.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub cpus: u64,
    /// Whether looptax could inspect every process, network namespace and connection; if not, clients may be missing.
    pub sees_all: bool,
    /// The clients, each with its server.
    pub findings: Vec<FleetFinding>,
    /// The machine's measurements.
    pub measured: Vec<FleetMeasured>,
}

/// A client and its server, on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetFinding {
    /// The client's program.
    pub client: String,
    /// The user that the client runs as.
    pub client_user: String,
    /// The server's kind.
    pub server: String,
    /// The transport of the connections: `unix`, `loopback`, and so on.
    pub way: String,
    /// Number of connections.
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
    /// The server's version.
    pub server_version: String,
    /// Added CPU time, both ends together, in µs.
    pub cpu_us: Estimate,
}
