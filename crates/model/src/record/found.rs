//! The result of `looptax find`: servers, their clients, and the obstacles.
//!
//! Its own JSON, apart from records of runs. Every name in it was chosen by somebody else.

use crate::stats::range::{Amount, Count, ProcessId, SmallCount, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, FoundChain, NoteCode, Way};

/// The version of what `find` prints as JSON.
pub const FOUND_SCHEMA_VERSION: u32 = 1;

/// One look at a machine, or two a moment apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Version of this form: [`FOUND_SCHEMA_VERSION`].
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// looptax that looked.
    pub looptax_version: String,
    /// When, with the offset to UTC.
    pub at: String,
    /// Seconds between the two looks that rates were made of; `null` without rates.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub rates_over_s: Option<f64>,
    /// The method by which the requests were counted.
    #[serde(default)]
    pub counted_by: CountedBy,
    /// The sources of the costs, a line per kind of server.
    pub cost_sources: Vec<CostSource>,
    /// Whether every process could be looked into; else clients are missing.
    pub sees_all: bool,
    /// The servers.
    pub servers: Vec<FoundServer>,
    /// Their clients on this machine.
    pub clients: Vec<FoundClient>,
    /// The chains of pages: web servers, the programs behind them, poolers, databases.
    #[serde(default)]
    pub chains: Vec<FoundChain>,
    /// Listening sockets whose process is not seen, and which nothing that is public gives to one server.
    #[serde(default)]
    pub listeners: Vec<FoundListener>,
    /// Problems, and facts that could not be seen.
    pub notes: Vec<Note>,
}

/// The CPU time that a request over TCP costs more than over the socket, and the source of the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
pub struct CostSource {
    /// For this kind of server: `mariadb`; `null` for all (the echo server).
    pub kind: Option<String>,
    /// The kind of pooler whose own requests were measured, not those of any program: `pgbouncer`.
    #[serde(default)]
    pub client_kind: Option<String>,
    /// Whether each of its requests had its own connection, which is in the cost.
    #[serde(default)]
    pub is_per_connection: bool,
    /// Whether its requests over TCP were encrypted (TLS), which is in the cost.
    #[serde(default)]
    pub is_sealed: bool,
    /// CPU time added at both ends together, µs per request.
    pub cpu_us_per_request: Figure,
    /// The record, or how it was measured just now.
    pub source: String,
    /// Whether that machine was so busy, or the effect so unsteady, that only its direction is known.
    #[serde(default)]
    pub is_size_uncertain: bool,
    /// Whether that run did not decide on throughput: the interval is wide.
    #[serde(default)]
    pub is_undecided: bool,
}

/// A server that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundServer {
    /// `mariadb`, `postgres`, ….
    pub kind: String,
    /// Its version, where its program tells.
    pub version: Option<String>,
    /// Its process.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub pid: u32,
    /// Its program's name.
    pub program: String,
    /// The user that it runs as: a name, or the number if it does not have one here.
    pub user: String,
    /// Its container or service: `docker 3f2a9c1b7d20`, `mariadb.service`.
    pub home: Option<String>,
    /// Whether its process cannot be looked into: what it listens on is inferred, or not known.
    #[serde(default)]
    pub is_hidden: bool,
    /// The endpoints that it listens on.
    pub endpoints: Vec<FoundEndpoint>,
    /// The network namespace that it listens in, where that is not the one of who looked.
    pub network: Option<String>,
    /// Connections from other machines, or whose addresses were rewritten on the way.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_remote: u64,
    /// TCP connections of this machine that were closed within the last minute.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_closed_last_minute: u64,
}

/// [`FoundEndpoint::file`] where the socket's file was deleted.
pub const FILE_GONE: &str = "gone";
/// [`FoundEndpoint::file`] where another file took its place.
pub const FILE_REPLACED: &str = "replaced by another file";
/// [`FoundEndpoint::file`] where looptax may not look.
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
    /// Most that may wait.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub backlog: u32,
    /// How it is known to be this server's.
    #[serde(default)]
    pub known: HowKnown,
}

/// A listening socket whose process is not seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundListener {
    /// The transport that clients must use.
    pub transport: EndpointTransport,
    /// `127.0.0.1:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// Whose socket it is: a name, or the number; `null` where the kernel does not tell.
    pub user: Option<String>,
    /// The server that usually listens there: `mysql or mariadb`.
    pub likely: Option<String>,
    /// Servers of that user which it may belong to.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "Vec<ProcessId>")]
    pub server_pids: Vec<u32>,
    /// Web servers and proxies of that user whose it may be as well: `nginx 812`.
    #[serde(default)]
    pub web_servers: Vec<String>,
    /// Connections to it from this machine.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_connections: u64,
    /// Whose they are.
    #[serde(default)]
    pub clients: Vec<FoundPeer>,
    /// TCP connections of this machine that were closed within the last minute.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_closed_last_minute: u64,
}

/// The connections of one process to a listening socket, of one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundPeer {
    /// The process; `null` where we may not see whose they are.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
    /// Its program's name.
    pub program: Option<String>,
    /// The user that it runs as.
    pub user: Option<String>,
    /// Its container or service.
    pub home: Option<String>,
    /// Whether all that it asks is in files, its own or those of the pages that it runs, and nothing in its
    /// environment: a web server, a proxy, a pooler, PHP-FPM.
    #[serde(default)]
    pub asks_by_its_files: bool,
    /// How they reach it.
    pub way: Way,
    /// Whether they were seen to be encrypted (TLS), all of those on which the server sent something.
    #[serde(default)]
    pub is_sealed: bool,
    /// How many connections.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_connections: u64,
    /// Requests per second, counted as [`CountedBy`] says: several that are sent at once count as one.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// Connections that were opened per second, also those that are gone; `null` where the kernel did not count them.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub opened_per_s: Option<f64>,
    /// Half of its requests took less, µs, from their arrival at the server until the client had the answer; `null` where
    /// the kernel did not count them.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub p50_us: Option<f64>,
}

/// The method by which requests were counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// Segments with data of TCP connections that are open; requests over Unix sockets are not counted.
    #[default]
    Segments,
    /// Programs in the kernel, on both transports, also of connections that are gone.
    Kernel,
}

/// How a listening socket is known to be a server's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HowKnown {
    /// By its user, who runs no other program whose sockets are not seen: inferred.
    User,
    /// By its usual port or name and its user: inferred.
    UsualPlace,
    /// By its user, and the server's command line names it: inferred.
    CommandLine,
    /// The process was seen to hold it.
    #[default]
    Seen,
}

impl HowKnown {
    /// Returns the evidence that it was inferred by, for a person; `None` if it was seen.
    pub const fn inferred_by(self) -> Option<&'static str> {
        match self {
            Self::Seen => None,
            Self::CommandLine => Some("by its user and the command line"),
            Self::UsualPlace => Some("by its user and its usual place"),
            Self::User => Some("by its user"),
        }
    }
}

/// The connections of one process to one server, of one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundClient {
    /// Whose they are, and what goes over them.
    #[serde(flatten)]
    pub peer: FoundPeer,
    /// The server's process.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub server_pid: u32,
    /// The process that they lead through: `docker-proxy 991`.
    pub via: Option<String>,
    /// Where a pooler takes them in the end: `postgres 456 by unix`.
    pub onward: Option<String>,
    /// CPU time that TCP costs over the socket, ms per second, by the cost of a request on this
    /// machine: an estimate.
    pub cpu_ms_per_s: Option<Figure>,
    /// The places of what that was made of, in the list of cost sources.
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

/// Something to know, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// The fact, for a program.
    pub code: NoteCode,
    /// The fact.
    pub what: String,
    /// The next step.
    pub next: Option<String>,
}
