//! The result of `looptax find`: servers, their clients, and problems.
//!
//! A JSON form separate from records of runs. Every name in this form was chosen by other people.

use crate::stats::range::{Amount, Count, ProcessId, SmallCount, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, FoundChain, NoteCode, Way};

/// The version of the JSON that `find` prints.
pub const FOUND_SCHEMA_VERSION: u32 = 1;

/// A snapshot of a machine, or two snapshots shortly after each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Version of this form: [`FOUND_SCHEMA_VERSION`].
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of looptax that took the snapshot.
    pub looptax_version: String,
    /// Time of the snapshot, with the offset to UTC.
    pub at: String,
    /// Seconds between the two snapshots from which the rates were computed; `null` if no rates were computed.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub rates_over_s: Option<f64>,
    /// The method by which the requests were counted.
    #[serde(default)]
    pub counted_by: CountedBy,
    /// The measurements from which the costs were computed, one for each kind of server.
    pub cost_sources: Vec<CostSource>,
    /// Whether looptax could inspect every process; if not, clients may be missing.
    pub sees_all: bool,
    /// The servers.
    pub servers: Vec<FoundServer>,
    /// The clients of these servers on this machine.
    pub clients: Vec<FoundClient>,
    /// The chains of programs that serve pages: web servers, the programs behind them, poolers, databases.
    #[serde(default)]
    pub chains: Vec<FoundChain>,
    /// Listening sockets that looptax could not assign to a server: looptax cannot see the socket's process, and public
    /// information does not identify the server.
    #[serde(default)]
    pub listeners: Vec<FoundListener>,
    /// Problems, and facts that looptax could not see.
    pub notes: Vec<Note>,
}

impl Found {
    /// Returns the parts of the machine in which clients may be missing; empty if looptax saw all clients.
    pub fn unseen(&self) -> Vec<&'static str> {
        let has = |code| self.notes.iter().any(|it| it.code == code);
        let are_uncounted = self.counted_by == CountedBy::Segments && has(NoteCode::ConnectionsShortLived);
        let parts = [
            (!self.sees_all || has(NoteCode::ProcessesHidden), "processes of other users"),
            (has(NoteCode::NamespacesClosed), "network namespaces of containers"),
            (has(NoteCode::SocketsUnread), "sockets in a form that looptax does not understand"),
            (are_uncounted, "short connections"),
        ];
        parts.into_iter().filter_map(|(is_unseen, part)| is_unseen.then_some(part)).collect()
    }
}

/// The additional CPU time of a request over TCP compared with the socket, and the measurement from which this time was
/// computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
pub struct CostSource {
    /// The kind of server for which this cost is used: `mariadb`; `null` if the echo server was measured, because this
    /// cost is then used for all kinds.
    pub kind: Option<String>,
    /// The kind of pooler, `pgbouncer`, if the measured requests were sent by a pooler to the server; otherwise
    /// `null`.
    #[serde(default)]
    pub client_kind: Option<String>,
    /// Whether each measured request had its own connection; the connection's cost is then included.
    #[serde(default)]
    pub is_per_connection: bool,
    /// Whether the measured requests over TCP were encrypted (TLS); the cost of encryption is then included.
    #[serde(default)]
    pub is_sealed: bool,
    /// Added CPU time of both ends together, µs per request.
    pub cpu_us_per_request: Figure,
    /// The record with the measurement, or a description of the measurement that `find` made.
    pub source: String,
    /// Whether only the direction of the effect is known, because the machine was too busy during the measurement or
    /// the effect varied too much.
    #[serde(default)]
    pub is_size_uncertain: bool,
    /// Whether the measurement has no verdict on throughput. Its interval is then wide.
    #[serde(default)]
    pub is_undecided: bool,
}

/// A running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundServer {
    /// The kind of server: `mariadb`, `postgres`, ….
    pub kind: String,
    /// The server's version, if its program file shows it.
    pub version: Option<String>,
    /// The server's process id.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub pid: u32,
    /// The name of the server's program.
    pub program: String,
    /// The user that the server runs as: a name, or the number if the user has no name on this machine.
    pub user: String,
    /// The server's container or service: `docker 3f2a9c1b7d20`, `mariadb.service`.
    pub home: Option<String>,
    /// Whether looptax is not permitted to inspect the server's process. If so, the sockets that the server listens on
    /// are inferred or not known.
    #[serde(default)]
    pub is_hidden: bool,
    /// The endpoints that the server listens on.
    pub endpoints: Vec<FoundEndpoint>,
    /// The network namespace in which the server listens, if it is another namespace than looptax's own.
    pub network: Option<String>,
    /// Number of connections from other machines, or of connections whose addresses were rewritten on the way.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_remote: u64,
    /// Number of TCP connections from this machine that were closed within the last minute.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_closed_last_minute: u64,
}

/// Value of [`FoundEndpoint::file`] if the socket's file was deleted.
pub const FILE_GONE: &str = "gone";
/// Value of [`FoundEndpoint::file`] if another file replaced the socket's file.
pub const FILE_REPLACED: &str = "replaced by another file";
/// Value of [`FoundEndpoint::file`] if looptax may not inspect the file.
pub const FILE_UNSEEN: &str = "may not be looked at";

/// An address that a server listens on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundEndpoint {
    /// The transport that clients must use.
    pub transport: EndpointTransport,
    /// The address: `127.0.0.1:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// For a socket with a path, its file: `mysql:mysql 0777`, or one of [`FILE_GONE`], [`FILE_REPLACED`],
    /// [`FILE_UNSEEN`].
    pub file: Option<String>,
    /// Number of connections that wait to be accepted.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_waiting: u32,
    /// The queue's backlog. One connection more may wait.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub backlog: u32,
    /// How looptax knows that this server listens on the address.
    #[serde(default)]
    pub known: HowKnown,
}

/// A listening socket whose process looptax cannot see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundListener {
    /// The transport that clients must use.
    pub transport: EndpointTransport,
    /// The address: `127.0.0.1:3306`, `/run/mysqld/mysqld.sock`, `@mariadb`.
    pub address: String,
    /// The socket's owner: a user name or number; `null` if the kernel does not show it.
    pub user: Option<String>,
    /// The server that usually has such an address: `mysql or mariadb`.
    pub likely: Option<String>,
    /// Process ids of the owner's servers to which the socket may belong.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "Vec<ProcessId>")]
    pub server_pids: Vec<u32>,
    /// The owner's web servers and proxies, to which the socket may also belong: `nginx 812`.
    #[serde(default)]
    pub web_servers: Vec<String>,
    /// Number of connections to the socket from this machine.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_connections: u64,
    /// The processes that hold these connections.
    #[serde(default)]
    pub clients: Vec<FoundPeer>,
    /// Number of TCP connections from this machine that were closed within the last minute.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_closed_last_minute: u64,
}

/// The connections of one process to a listening socket, all over the same transport.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundPeer {
    /// The process id; `null` if looptax is not permitted to see which process holds the connections.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
    /// The name of the process's program.
    pub program: Option<String>,
    /// The user that the process runs as.
    pub user: Option<String>,
    /// The container or service of the process.
    pub home: Option<String>,
    /// Whether the process reads all addresses to which it connects from files (its own files, or files of the pages
    /// that it runs) and not from its environment. True for a web server, a proxy, a pooler, and PHP-FPM.
    #[serde(default)]
    pub asks_by_its_files: bool,
    /// How the connections reach the socket.
    pub way: Way,
    /// Whether all connections on which the server sent something were seen to be encrypted (TLS).
    #[serde(default)]
    pub is_sealed: bool,
    /// Number of connections.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_connections: u64,
    /// Requests per second, counted as [`CountedBy`] describes; several requests that are sent together count as one
    /// request.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub requests_per_s: Option<f64>,
    /// Number of connections that were opened per second, including connections that were closed again; `null` if the
    /// kernel did not count the connections.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub opened_per_s: Option<f64>,
    /// Median time of the requests, µs, from the arrival of a request at the server until the client had the answer;
    /// `null` if the kernel did not count the requests.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub p50_us: Option<f64>,
}

/// The method by which requests were counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// Segments with data are counted on the TCP connections that are open. Requests over Unix sockets are not
    /// counted.
    #[default]
    Segments,
    /// Programs in the kernel count the requests over both transports, including those on connections that are closed
    /// again. These counts may lack the requests of a client that connects through a proxy or at a rewritten address.
    /// In this case the client has no `opened_per_s`, and its requests are counted by segments.
    Kernel,
}

/// How looptax knows that a listening socket belongs to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HowKnown {
    /// The socket's owner runs only one program whose sockets looptax cannot see, so the socket was attributed to this
    /// program.
    User,
    /// Inferred from the socket's usual port or name, and from its owner.
    UsualPlace,
    /// Inferred from the socket's owner, and from the server's command line, which names the socket.
    CommandLine,
    /// looptax saw that the process holds the socket.
    #[default]
    Seen,
}

impl HowKnown {
    /// Returns, for a person, the evidence from which the server was inferred; `None` if looptax saw the socket in the
    /// process.
    pub const fn inferred_by(self) -> Option<&'static str> {
        match self {
            Self::Seen => None,
            Self::CommandLine => Some("by its user and the command line"),
            Self::UsualPlace => Some("by its user and its usual place"),
            Self::User => Some("by its user"),
        }
    }
}

/// The connections of one process to one server, all over the same transport.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundClient {
    /// The process that holds the connections, and its requests.
    #[serde(flatten)]
    pub peer: FoundPeer,
    /// The process id of the server.
    #[serde(deserialize_with = "ProcessId::read")]
    #[schemars(with = "ProcessId")]
    pub server_pid: u32,
    /// The process through which the connections go: `docker-proxy 991`.
    pub via: Option<String>,
    /// For a client of a pooler: the server that finally gets the pooler's requests: `postgres 456 by unix`.
    pub onward: Option<String>,
    /// Estimate of the additional CPU time that TCP costs compared with the socket, ms per second. The estimate is
    /// computed from the cost of a request on this machine.
    pub cpu_ms_per_s: Option<Figure>,
    /// Indexes in `cost_sources` of the measurements from which `cpu_ms_per_s` was computed.
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

/// A fact that the user should know, and the next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// The fact, as a code for programs.
    pub code: NoteCode,
    /// The fact in words.
    pub what: String,
    /// The next step.
    pub next: Option<String>,
}
