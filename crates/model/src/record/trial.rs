//! Facts about an application that `looptax trial` ran over both transports.
//!
//! The figures have the same form as in other comparisons, but are about pages instead of requests.

use crate::stats::range::{Amount, Count, HttpStatus, Index, ProcessId, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Figure;

/// An application that was measured over both arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The application's command, with passwords masked.
    pub command: String,
    /// How the arms took turns.
    pub design: TrialDesign,
    /// The pages that looptax requested, as looptax saw them at the start. If there are many pages, only the first
    /// pages are listed.
    pub pages: Vec<TrialPage>,
    /// Number of different pages.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_pages: u64,
    /// The command that made the load, with passwords masked; `null` if looptax requested the pages itself.
    #[serde(default)]
    pub load_command: Option<String>,
    /// The servers on this machine to which the application connects.
    pub servers: Vec<TrialServer>,
    /// The server whose transport differs between the arms, as an index into `servers`, if each server was moved
    /// separately. The transports of the other servers are chosen at random for each epoch. `null` if all servers were
    /// moved together.
    #[serde(default, deserialize_with = "Index::read")]
    #[schemars(with = "Option<Index>")]
    pub only: Option<u32>,
    /// Facts that looptax observed about each arm, `[baseline, other]`.
    pub arms: [TrialArm; 2],
    /// The 95th percentile of a page's time, µs, `[baseline, other]`.
    pub p95_us: [Figure; 2],
    /// Time that the other arm adds to the 95th percentile of a page's time, µs.
    pub p95_added_us: Figure,
    /// Time that the other arm adds to the mean page, without the time that is added by the supervisor (the process
    /// that moves connections to the socket), µs. If an application's own configuration contains the address or the
    /// socket, this figure is closer to the application's cost.
    pub added_by_configuration_us: Figure,
    /// The servers' own counts of requests, both arms together, for servers that report a count.
    #[serde(default)]
    pub counted: Vec<TrialCount>,
    /// How much each server's transport adds to a page, if each server was also moved separately. Only the comparison
    /// in which all servers were moved together has this field.
    #[serde(default)]
    pub bill: Option<TrialBill>,
}

/// How much TCP adds to a page, for each server, and for all servers together.
///
/// Computed from blocks. A block has the n-th epoch of every comparison; the order of these epochs was random.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialBill {
    /// Whether the supervisor's time is subtracted from the pages' times.
    pub without_supervisor: bool,
    /// The servers that were moved separately.
    pub parts: Vec<TrialPart>,
    /// Time that the transports of all these servers add together, measured directly, µs per page.
    pub in_all_us: Figure,
    /// CPU time that the transports of all these servers add together, measured directly, µs per page.
    pub in_all_cpu_us: Figure,
    /// `in_all_us` minus the sum of the parts, computed block by block, µs per page.
    pub left_over_us: Figure,
}

/// How much one server's transport adds to a page, as a mean over the transports of the other servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialPart {
    /// The server, as an index into `servers`.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub server: u32,
    /// Added time, µs per page.
    pub time_us: Figure,
    /// Added CPU time of the application, and of its servers whose processes are known, µs per page.
    pub cpu_us: Figure,
}

/// How the arms took turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialDesign {
    /// Slice by slice while the application's process runs: the application opens new connections for its pages.
    Flip,
    /// With a restart of the application for each slice: the application keeps its connections within a slice.
    Restart,
}

/// A page as looptax saw it at the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialPage {
    /// The page's address, with passwords masked.
    pub url: String,
    /// The HTTP status of the page's answer.
    #[serde(deserialize_with = "HttpStatus::read")]
    #[schemars(with = "HttpStatus")]
    pub status: u16,
    /// The smallest and the largest size of the page's body.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub body_bytes: [u64; 2],
}

/// A server to which the application connects, and its two transports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialServer {
    /// The server's program: `mariadbd`, `redis-server`, …; the first address if the program is not known.
    pub kind: String,
    /// The TCP addresses; connections to them are moved.
    pub from: Vec<String>,
    /// The socket to which the connections are moved.
    pub socket: String,
    /// The server's process id, if it is known; `null` for a server that the application's command starts, because
    /// each start makes a new process.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
}

/// Facts that looptax observed about an arm while it was measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrialArm {
    /// Number of slices.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_slices: u64,
    /// Number of pages that were answered as expected.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_pages: u64,
    /// Number of pages that failed: no answer, another status, or a body of another size class.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_failed: u64,
    /// The application's connections, by server.
    pub connections: Vec<TrialConnections>,
    /// Time that the supervisor spent on the connections, µs per page. This time is part of the pages' time, but not of
    /// the cost for an application whose own configuration names the socket.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub supervisor_us_per_page: f64,
}

/// How many of an application's connections to a server were moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrialConnections {
    /// Number of connections that were moved to the socket.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_moved: u64,
    /// Number of connections that stayed on TCP because the arm was TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_left: u64,
    /// Number of connections that used TCP although they should have been moved to the socket.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_not_moved: u64,
    /// Number of slices in which the application had at least one connection to the server.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_slices: u64,
}

/// A server's own count of the application's requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialCount {
    /// The server, as an index into `servers`.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub server: u32,
    /// The name of the server's counter: `Questions`, `total_commands_processed`.
    pub counter: String,
    /// Requests per page.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_page: f64,
    /// Time of the requests, measured with the server's own clock, µs per page; `null` if the server does not report
    /// it.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub us_per_page: Option<f64>,
}
