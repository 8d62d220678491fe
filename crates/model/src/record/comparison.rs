//! One comparison: some arms of one server, with the same workload, placement and client model.
//!
//! Each comparison is complete: its reader needs no other part of the run.

use std::collections::BTreeMap;

use crate::stats::range::{Amount, AtLeastOne, Count, Index, Positive, ProcessId, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{
    Arm, Bill, Client, ClientLike, Commands, Direction, Figure, Placement, Raw, RemedyKind, Schedule, Tax, Trial, Why,
};

/// Some arms of one server, compared with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
// With this attribute, serde derives functions of the type instead of the traits. The module `consistent` implements
// the traits, and checks the values that were read.
#[serde(remote = "Self")]
pub struct Comparison {
    /// The server.
    pub target: Target,
    /// The workload of the server.
    pub workload: Workload,
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub connections: u32,
    /// The cores on which the two ends of the connections ran.
    pub placement: PlacementUsed,
    /// How the load generator waited for answers: over all arms or, if the arms differ, over the baseline.
    pub client: Client,
    /// The real client that the load generator imitates, if the user selected one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_like: Option<ClientLike>,
    /// The load: when the connections send a request.
    #[serde(default)]
    pub load: Load,
    /// The remedy that this comparison measures, if the run measured remedies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<RemedyKind>,
    /// The commands that were measured as a whole; `null` if the load generator sent requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
    /// The application whose pages were measured; `null` if the load generator sent requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// The CPU time of the requests by layer, for each arm except the baseline; empty if the user did not request it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Why>,
    /// The plan of the measurement: lengths of slices, interim analyses (looks), and the seed.
    pub schedule: Schedule,
    /// The arms; indexes in other fields are indexes into this list.
    pub arms: Vec<Arm>,
    /// The cost of each of the other arms, compared with the baseline.
    pub tax: Vec<Tax>,
    /// How much each arm adds to another arm, if more than two arms were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bill: Option<Bill>,
    /// Warnings to read before relying on the figures.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Slices whose last answers came late.
    #[serde(default)]
    pub stalls: Vec<Stall>,
    /// The server's own count of requests, if the server has a counter that no other client changes.
    #[serde(default)]
    pub server_count: Option<ServerCount>,
    /// Closed TCP connections that still hold their ports, if the workload causes such connections.
    #[serde(default)]
    pub time_wait: Option<TimeWait>,
    /// The counts of every epoch.
    pub raw: Raw,
}

impl Comparison {
    /// Returns whether another program made the requests: a command that was measured as a whole, or an application
    /// that served pages.
    pub fn is_of_program(&self) -> bool {
        self.commands.is_some() || self.trial.is_some()
    }

    /// Returns whether pages took longer over the socket, and the supervisor of `looptax run` may be the only cause. An
    /// application whose own configuration names the socket runs without the supervisor.
    pub fn is_slower_by_supervisor(&self) -> bool {
        let added = self.trial.as_ref().map(|it| &it.added_by_configuration_us);
        let highest = added.and_then(Figure::known).map(|it| it.hi);
        let is_slower = self.tax.first().is_some_and(|tax| {
            (tax.arm.as_str(), tax.baseline.as_str()) == ("tcp", "unix")
                && tax.direction == Some(Direction::OtherFaster)
        });
        is_slower && highest.is_some_and(|hi| hi.is_none_or(|hi| hi >= 0.0))
    }

    /// Makes a comparison with one connection per arm, in which nothing is measured or judged yet.
    pub fn unmeasured(
        target: Target,
        workload: Workload,
        placement: PlacementUsed,
        client: Client,
        schedule: Schedule,
    ) -> Self {
        Self {
            target,
            workload,
            connections: 1,
            placement,
            client,
            client_like: None,
            load: Load::default(),
            remedy: None,
            commands: None,
            trial: None,
            why: Vec::new(),
            schedule,
            arms: Vec::new(),
            tax: Vec::new(),
            bill: None,
            warnings: Vec::new(),
            stalls: Vec::new(),
            server_count: None,
            time_wait: None,
            raw: Raw::default(),
        }
    }
}

/// A database server. No field can hold a password.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// `mariadb`, `mysql`, `postgres`, `redis`, `valkey`, `memcached` or `echo`; `none` if the commands used their
    /// own server.
    pub kind: String,
    /// The version as the server reports it; empty for the echo server.
    pub version: String,
    /// Whether looptax started the server.
    pub private: bool,
    /// The target as the user gave it: `private:mariadb`, or the URL without its password.
    pub name: String,
    /// The settings that matter for the result, as the server reports them.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The server's process id, if it is known.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
    /// The number of processes that serve only one arm, for servers such as memcached that listen either on a socket
    /// or on TCP. These processes differ only in the address, and a coin selects one of them for each epoch. `null` if
    /// one server serves all arms.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub processes_per_arm: Option<u32>,
    /// Time at which the server started, RFC 3339; `null` if it is not known.
    pub started_at: Option<String>,
    /// Whether the server offers TLS on the port of the arm `tcp`; `null` if the server does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offers_tls: Option<bool>,
    /// How often the server's own clients ran on the server's core, as observed before the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meetings: Option<Meetings>,
}

/// How often the clients of a single-threaded server ran on the server's core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Meetings {
    /// The clients' programs.
    pub programs: Vec<String>,
    /// Number of times that looptax looked at a client's thread that had run since the previous look.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_looks: u32,
    /// Number of the observations in which the client's thread was on the core where the server's thread ran last.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_same: u32,
}

/// The workload of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// A workload from `compare --list`: `point-select`, `get`, `mixed:9:1` …; `command` for a command that is measured
    /// as a whole.
    pub name: String,
    /// How a request is sent: `prepared` or `text`; `null` if the server has only one form.
    pub protocol: Option<String>,
    /// Number of statements in a request; they run one after another.
    #[serde(default = "one", deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub statements: u32,
    /// Number of commands that one request sends together.
    #[serde(default = "one", deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub pipeline: u32,
    /// The distribution of requests over the keys: `zipf:0.99`; `null` if it is uniform.
    #[serde(default)]
    pub distribution: Option<String>,
    /// Number of rows or keys from which requests choose.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub rows: Option<u64>,
    /// Typical size of a request on the wire.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub request_bytes: Option<u64>,
    /// Typical size of an answer on the wire.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub response_bytes: Option<u64>,
    /// The data that one request transfers, if the request is a stream.
    #[serde(default)]
    pub stream: Option<Stream>,
}

/// A request that transfers so much data that bytes per second matter more than requests per second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// Number of bytes that one request transfers.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub bytes: u64,
    /// Size of one write call, if the client sends the data.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub write_bytes: Option<u64>,
}

fn one() -> u32 {
    1
}

/// When connections send a request: directly after the previous answer, after a pause, or by a schedule.
///
/// With a pause or a schedule, the verdict is computed from the response time, not from the rate. θ is then ln(other
/// arm's median response time / baseline's median response time). The tax is the difference of the two median response
/// times, divided by the other arm's median response time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Planned requests per second, over all connections of an arm; `null` in a closed loop.
    #[serde(default, deserialize_with = "Positive::read")]
    #[schemars(with = "Option<Positive>")]
    pub rate_per_s: Option<f64>,
    /// If the rate is a share of the capacity: the rate that the slower arm reached in a closed loop shortly before.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub capacity_per_s: Option<f64>,
    /// The rate as a percentage of `capacity_per_s`.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub share_pct: Option<f64>,
    /// Distribution of the gaps between requests: `poisson` or `fixed`.
    pub arrivals: Option<String>,
    /// Whether client threads spun instead of sleeping in waits under 60 µs, so that they could send on time.
    pub spins: bool,
    /// Pause between an answer and the next request of the connection, µs; `null` if there is no pause.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub think_us: Option<f64>,
    /// Number of requests after which a connection was closed and a new one opened; `null` if connections stay open.
    #[serde(default, deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "Option<AtLeastOne>")]
    pub reconnect_every: Option<u32>,
}

impl Load {
    /// Returns whether connections send the next request directly after each answer.
    pub fn is_flat_out(&self) -> bool {
        self.rate_per_s.is_none() && self.think_us.is_none()
    }
}

/// The server's own count of the requests that it received, and looptax's count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCount {
    /// The server's counter: `Com_stmt_execute`, `xact_commit`, `commandstats calls of get` …
    pub counter: String,
    /// Number of requests that looptax sent by its own count, including the warm-up.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub sent: u64,
    /// Increase of the server's counter while looptax sent these requests.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub counted: u64,
}

/// Number of sockets in `TIME_WAIT` before and after a comparison, and the number of local ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeWait {
    /// Number of sockets in `TIME_WAIT` before the comparison.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub before: u64,
    /// Number of sockets in `TIME_WAIT` after the comparison.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub after: u64,
    /// Number of local ports from which the kernel chooses.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub local_ports: u64,
    /// `net.ipv4.tcp_tw_reuse`: 0 means never, 1 always, 2 on loopback after a second.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub reuse: u64,
}

/// The placement that the user requested, and the resulting placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementUsed {
    /// The requested placement.
    pub asked: Placement,
    /// The resulting placement, for a person: "16 pairs dealt over 2 cores".
    pub real: String,
}

/// A slice whose drain took longer than half the slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// The arm whose last answer was late.
    pub arm: String,
    /// Number of the epoch, from 0.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub epoch_idx: u32,
    /// Number of the slice in its epoch, from 0.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub slice_idx: u32,
    /// Time from the end of the window to the last answer, ms.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub drain_ms: f64,
}
