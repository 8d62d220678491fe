//! The result of `looptax find`: servers, their clients, and obstacles.
//!
//! A JSON form separate from records of runs. Every name in it was chosen by somebody else.

use crate::stats::range::{Amount, Count, ProcessId, SmallCount, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, FoundChain, NoteCode, Way};

/// The version of what `find` prints as JSON.
pub const FOUND_SCHEMA_VERSION: u32 = 1;

/// One look at a machine, or two looks a moment apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Version of this form: [`FOUND_SCHEMA_VERSION`].
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of looptax that looked.
    pub looptax_version: String,
    /// Time of the look, with the offset to UTC.
    pub at: String,
    /// Seconds between the two looks from which the rates were computed; `null` without rates.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub rates_over_s: Option<f64>,
    /// The method by which the requests were counted.
    #[serde(default)]
    pub counted_by: CountedBy,
    /// The measurements from which the costs were computed, one per kind of server.
    pub cost_sources: Vec<CostSource>,
    /// Whether looptax could inspect every process; if not, clients are missing.
    pub sees_all: bool,
    /// The servers.
    pub servers: Vec<FoundServer>,
    /// Their clients on this machine.
    pub clients: Vec<FoundClient>,
    /// The chains behind pages: web servers, the programs behind them, poolers, databases.
    #[serde(default)]
    pub chains: Vec<FoundChain>,
    /// Listening sockets whose process cannot be seen, and which no public information assigns to one server.
    #[serde(default)]
    pub listeners: Vec<FoundListener>,
    /// Problems, and facts that could not be seen.
    pub notes: Vec<Note>,
}

/// The CPU time that a request over TCP costs more than over the socket, and where the measurement comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
pub struct CostSource {
    /// The kind of server that it applies to: `mariadb`; `null` for all kinds (the echo server was measured).
    pub kind: Option<String>,
    /// If the requests of a pooler to the server were measured, the kind of pooler: `pgbouncer`; otherwise `null`.
    #[serde(default)]
    pub client_kind: Option<String>,
    /// Whether each measured request had its own connection, whose cost is included.
    #[serde(default)]
    pub is_per_connection: bool,
    /// Whether its requests over TCP were encrypted (TLS), which is in the cost.
    #[serde(default)]
    pub is_sealed: bool,
    /// CPU time added at both ends together, µs per request.
    pub cpu_us_per_request: Figure,
    /// The record, or how it was measured just now.
    pub source: String,
    /// Whether the machine was so busy during that measurement, or the effect so unsteady, that only its direction is
    /// known.
    #[serde(default)]
    pub is_size_uncertain: bool,
    /// Whether that run gave no verdict on throughput: the interval is wide.
    #[serde(default)]
    pub is_undecided: bool,
}

/// A running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundServer {
    /// `mariadb`, `postgres`, ….
    pub kind: String,
    /// Its version, if its program shows it.
    pub version: Option<String>,
    /// Its process.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub pid: u32,
    /// Its program's name.
    pub program: String,
    /// The user that it runs as: a name, or the number if the user has no name here.
    pub user: String,
    /// Its container or service: `docker 3f2a9c1b7d20`, `mariadb.service`.
    pub home: Option<String>,
    /// Whether looptax may not inspect its process: the sockets that it listens on are then inferred or not known.
    #[serde(default)]
    pub is_hidden: bool,
    /// The endpoints that the server listens on.
    pub endpoints: Vec<FoundEndpoint>,
    /// The network namespace in which it listens, if that is not looptax's own.
    pub network: Option<String>,
    /// Connections from other machines, or connections whose addresses were rewritten on the way.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_remote: u64,
    /// TCP connections from this machine that were closed within the last minute.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_closed_last_minute: u64,
}

/// [`FoundEndpoint::file`] if the socket's file was deleted.
pub const FILE_GONE: &str = "gone";
/// [`FoundEndpoint::file`] if another file replaced the socket's file.
pub const FILE_REPLACED: &str = "replaced by another file";
/// [`FoundEndpoint::file`] if looptax may not look at the file.
pub const FILE_UNSEEN: &str = "may not be looked at";

/// An address that a server listens on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundEndpoint {
    /// The transport that clients must use.
    pub transport: EndpointTransport,
    /// `127.0.0.1:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// The file of a socket with a path: `mysql:mysql 0777`, or one of [`FILE_GONE`], [`FILE_REPLACED`], [`FILE_UNSEEN`].
    pub file: Option<String>,
    /// Connections that wait to be accepted.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_waiting: u32,
    /// Highest number of connections that may wait.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub backlog: u32,
    /// How looptax knows that this server listens there.
    #[serde(default)]
    pub known: HowKnown,
}

/// A listening socket whose process cannot be seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundListener {
    /// The transport that clients must use.
    pub transport: EndpointTransport,
    /// `127.0.0.1:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// Owner of the socket: a user name, or the number; `null` if the kernel does not show it.
    pub user: Option<String>,
    /// The server that usually listens there: `mysql or mariadb`.
    pub likely: Option<String>,
    /// Process ids of the servers of that user to which the socket may belong.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "Vec<ProcessId>")]
    pub server_pids: Vec<u32>,
    /// Web servers and proxies of that user to which the socket may belong as well: `nginx 812`.
    #[serde(default)]
    pub web_servers: Vec<String>,
    /// Connections to it from this machine.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_connections: u64,
    /// The processes that hold these connections.
    #[serde(default)]
    pub clients: Vec<FoundPeer>,
    /// TCP connections from this machine that were closed within the last minute.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_closed_last_minute: u64,
}

/// The connections of one process to a listening socket, over one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundPeer {
    /// The process; `null` if looptax may not see which process holds the connections.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
    /// Its program's name.
    pub program: Option<String>,
    /// The user that it runs as.
    pub user: Option<String>,
    /// Its container or service.
    pub home: Option<String>,
    /// Whether all addresses that the process connects to are in files (its own or those of the pages that it runs) and
    /// none in its environment: a web server, a proxy, a pooler, PHP-FPM.
    #[serde(default)]
    pub asks_by_its_files: bool,
    /// How the connections reach the socket.
    pub way: Way,
    /// Whether they were seen to be encrypted (TLS), all of those on which the server sent something.
    #[serde(default)]
    pub is_sealed: bool,
    /// Number of connections.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_connections: u64,
    /// Requests per second, counted as [`CountedBy`] describes: several requests that are sent together count as one.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// Connections that were opened per second, including those that are closed again; `null` if the kernel did not
    /// count them.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub opened_per_s: Option<f64>,
    /// Median time of its requests, µs, from their arrival at the server until the client had the answer; `null` if the
    /// kernel did not count them.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub p50_us: Option<f64>,
}

/// The method by which requests were counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// Counted as segments with data on the TCP connections that are open; requests over Unix sockets are not counted.
    #[default]
    Segments,
    /// Counted by programs in the kernel, on both transports, including connections that are closed again.
    Kernel,
}

/// How looptax knows that a listening socket belongs to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HowKnown {
    /// Inferred from its user, who runs no other program whose sockets cannot be seen.
    User,
    /// Inferred from its usual port or name and from its user.
    UsualPlace,
    /// Inferred from its user and from the server's command line, which names the socket.
    CommandLine,
    /// The process was seen to hold the socket.
    #[default]
    Seen,
}

impl HowKnown {
    /// Returns the evidence from which it was inferred, for a person; `None` if it was seen.
    pub const fn inferred_by(self) -> Option<&'static str> {
        match self {
            Self::Seen => None,
            Self::CommandLine => Some("by its user and the command line"),
            Self::UsualPlace => Some("by its user and its usual place"),
            Self::User => Some("by its user"),
        }
    }
}

/// The connections of one process to one server, over one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundClient {
    /// The process that holds the connections, and its requests.
    #[serde(flatten)]
    pub peer: FoundPeer,
    /// The server's process.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub server_pid: u32,
    /// The process that passes the connections on: `docker-proxy 991`.
    pub via: Option<String>,
    /// The server to which a pooler passes the requests in the end: `postgres 456 by unix`.
    pub onward: Option<String>,
    /// CPU time that TCP costs over the socket, ms per second, by the cost of a request on this machine: an estimate.
    pub cpu_ms_per_s: Option<Figure>,
    /// Indexes in `cost_sources` of the measurements behind `cpu_ms_per_s`.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Vec<Count>")]
    pub cost_from: Vec<usize>,
}

/// The transport of an address that a server listens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndpointTransport {
    /// TCP.
    Tcp,
    /// A Unix socket with a path.
    Unix,
    /// A Unix socket in the abstract namespace.
    Abstract,
}

/// A fact to know, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// The fact, as a code for programs.
    pub code: NoteCode,
    /// The fact in words.
    pub what: String,
    /// The next step.
    pub next: Option<String>,
}
