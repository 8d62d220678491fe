//! One comparison: some arms of one server under one workload, placement and client model.
//!
//! Each comparison is complete in itself: a reader needs no other part of the run.

use std::collections::BTreeMap;

use crate::stats::range::{Amount, AtLeastOne, Count, Index, Positive, ProcessId, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{
    Arm, Bill, Client, ClientLike, Commands, Direction, Figure, Placement, Raw, RemedyKind, Schedule, Tax, Trial, Why,
};

/// Some arms of one server, compared with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
// serde derives a function of the type. The function that the trait has checks the values that were read: see
// `consistent`.
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
    /// Which cores the two ends of the connections ran on.
    pub placement: PlacementUsed,
    /// How the load generator waited; if that differs between the arms, how it waited in the baseline.
    pub client: Client,
    /// The real client that the load generator imitates, if the run was to imitate one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_like: Option<ClientLike>,
    /// The load: when connections send a request.
    #[serde(default)]
    pub load: Load,
    /// The remedy that this comparison measures, if the run was to measure remedies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<RemedyKind>,
    /// The whole commands that ran instead of requests; `null` if requests were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
    /// The application whose pages were measured; `null` if requests were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// The CPU time of its requests by layer, for each arm except the baseline; empty if it was not requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Why>,
    /// When what ran.
    pub schedule: Schedule,
    /// The arms; indexes elsewhere point into this list.
    pub arms: Vec<Arm>,
    /// The cost of each other arm compared with the baseline.
    pub tax: Vec<Tax>,
    /// How much each arm adds to another arm, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bill: Option<Bill>,
    /// Warnings to read before believing the figures.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Slices whose last answers came late.
    #[serde(default)]
    pub stalls: Vec<Stall>,
    /// The server's own count of requests, if the server has a counter and no other client uses it.
    #[serde(default)]
    pub server_count: Option<ServerCount>,
    /// Closed TCP connections that keep their ports, if the workload leaves such connections.
    #[serde(default)]
    pub time_wait: Option<TimeWait>,
    /// Every epoch, as it was counted.
    pub raw: Raw,
}

impl Comparison {
    /// Whether another program made the requests: a whole command, or an application that served pages.
    pub fn is_of_program(&self) -> bool {
        self.commands.is_some() || self.trial.is_some()
    }

    /// Whether pages took longer over the socket and may have done so only because of the supervisor. An application
    /// whose configuration names the socket runs without the supervisor.
    pub fn is_slower_by_supervisor(&self) -> bool {
        let added = self.trial.as_ref().map(|it| &it.added_by_configuration_us);
        let highest = added.and_then(Figure::known).map(|it| it.hi);
        let is_slower = self.tax.first().is_some_and(|tax| {
            (tax.arm.as_str(), tax.baseline.as_str()) == ("tcp", "unix")
                && tax.direction == Some(Direction::OtherFaster)
        });
        is_slower && highest.is_some_and(|hi| hi.is_none_or(|hi| hi >= 0.0))
    }

    /// A comparison over one connection per arm in which nothing is measured or judged yet.
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

/// A database server. No field of it can hold a password.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// `mariadb`, `mysql`, `postgres`, `redis`, `valkey`, `memcached` or `echo`; `none` if the commands brought their
    /// own server.
    pub kind: String,
    /// The version as the server reports it; empty for the echo server.
    pub version: String,
    /// Whether looptax started it.
    pub private: bool,
    /// The target as it was given: `private:mariadb`, or the URL without its password.
    pub name: String,
    /// Settings that matter, as the server reports them.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The server's process, if it has one that is known.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
    /// The number of processes that serve only one arm; they are alike except for the address, and a coin picks one of
    /// them in each epoch (memcached listens either on a socket or on TCP). `null` if one server serves all arms.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub processes_per_arm: Option<u32>,
    /// When the server started, RFC 3339, if known.
    pub started_at: Option<String>,
    /// Whether the server offers TLS on the port of `tcp`, if the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offers_tls: Option<bool>,
    /// How often the server's own clients were seen on its core before the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meetings: Option<Meetings>,
}

/// How often the clients of a single-threaded server were found on the server's core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Meetings {
    /// The clients' programs.
    pub programs: Vec<String>,
    /// Number of times that looptax looked at a client's thread that had run since the previous look.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_looks: u32,
    /// The looks that found the client's thread on the core where the server's thread ran last.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_same: u32,
}

/// The workload of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// A word of `looptax compare --list`: `point-select`, `get`, `mixed:9:1` …; `command` for a whole
    /// command.
    pub name: String,
    /// How a request is sent: `prepared` or `text`; `null` if there is only one way.
    pub protocol: Option<String>,
    /// Statements that one request runs one after another.
    #[serde(default = "one", deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub statements: u32,
    /// Commands that one request sends together.
    #[serde(default = "one", deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub pipeline: u32,
    /// How requests are distributed over the keys, if not uniformly: `zipf:0.99`.
    #[serde(default)]
    pub distribution: Option<String>,
    /// Rows or keys that requests choose from.
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
    /// The data that one request moves, if it is a stream.
    #[serde(default)]
    pub stream: Option<Stream>,
}

/// A request that is long enough for bytes per second to matter more than requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// Bytes that one request moves.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub bytes: u64,
    /// Size of one write, if the client writes the data.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub write_bytes: Option<u64>,
}

fn one() -> u32 {
    1
}

/// When connections send a request: as soon as they have the previous answer, or after a pause, or by a schedule.
///
/// With a pause or a schedule the verdict comes from the response time, not from the rate: θ is then ln of the other
/// arm's median response time over the baseline's, and the tax is the share of the other arm's response time that
/// exceeds the baseline's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Requests per second that were due, over all connections of an arm; `null` in a closed loop.
    #[serde(default, deserialize_with = "Positive::read")]
    #[schemars(with = "Option<Positive>")]
    pub rate_per_s: Option<f64>,
    /// The slower arm's rate in a closed loop just before, if the rate is a share of it.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub capacity_per_s: Option<f64>,
    /// The rate as a percentage of `capacity_per_s`.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub share_pct: Option<f64>,
    /// Distribution of the gaps between requests: `poisson` or `fixed`.
    pub arrivals: Option<String>,
    /// Whether client threads spun through waits under 60 µs, to send on time.
    pub spins: bool,
    /// Pause between an answer and the connection's next request, µs; `null` for none.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub think_us: Option<f64>,
    /// Requests after which a connection was closed and another opened; `null` for never.
    #[serde(default, deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "Option<AtLeastOne>")]
    pub reconnect_every: Option<u32>,
}

impl Load {
    /// Whether only the server's answers set the rate.
    pub fn is_flat_out(&self) -> bool {
        self.rate_per_s.is_none() && self.think_us.is_none()
    }
}

/// The server's own count of the requests that it received, and looptax's count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCount {
    /// The server's counter: `Com_stmt_execute`, `xact_commit`, `commandstats calls of get` …
    pub counter: String,
    /// The requests that looptax sent by its own count, including the warm-up.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub sent: u64,
    /// By how much the server's counter grew during that time.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub counted: u64,
}

/// Sockets in `TIME_WAIT` before and after a comparison, and the number of local ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeWait {
    /// Before the comparison.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub before: u64,
    /// After the comparison.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub after: u64,
    /// Number of local ports that the kernel chooses from.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub local_ports: u64,
    /// `net.ipv4.tcp_tw_reuse`: 0 never, 1 always, 2 on loopback after a second.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub reuse: u64,
}

/// The placement that was requested, and the one that resulted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementUsed {
    /// The requested placement.
    pub asked: Placement,
    /// The real placement, for a person: "16 pairs dealt over 2 cores".
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
    /// How long after the end of the window the last answer arrived.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub drain_ms: f64,
}
