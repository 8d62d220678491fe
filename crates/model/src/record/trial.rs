//! Facts about an application that `looptax trial` ran over both transports.
//!
//! Its figures have the same form as in any comparison, with pages instead of requests.

use crate::stats::range::{Amount, Count, HttpStatus, Index, ProcessId, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Figure;

/// An application under both arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The application's command, passwords hidden.
    pub command: String,
    /// How the arms took turns.
    pub design: TrialDesign,
    /// The pages that were requested, as the first look saw them; only the first pages if there are many.
    pub pages: Vec<TrialPage>,
    /// How many different pages there are.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_pages: u64,
    /// The command that made the load, passwords hidden; `null` if looptax requested the pages itself.
    #[serde(default)]
    pub load_command: Option<String>,
    /// The local servers that the application connects to.
    pub servers: Vec<TrialServer>,
    /// The only server whose transport differs between the arms, as index into `servers`, if each server was tried by
    /// itself; the transports of the other servers are drawn again in each epoch. `null` if all servers are moved
    /// together.
    #[serde(default, deserialize_with = "Index::read")]
    #[schemars(with = "Option<Index>")]
    pub only: Option<u32>,
    /// The observations of each arm, `[baseline, other]`.
    pub arms: [TrialArm; 2],
    /// 95th percentile of a page's time, µs, `[baseline, other]`.
    pub p95_us: [Figure; 2],
    /// Time that the other arm adds to the 95th percentile, µs.
    pub p95_added_us: Figure,
    /// Time that the other arm adds to the mean page without the supervisor's part, µs: nearer to the cost for an
    /// application whose configuration names an address or a socket.
    pub added_by_configuration_us: Figure,
    /// The servers' own counts of requests, all arms together, for servers that report them.
    #[serde(default)]
    pub counted: Vec<TrialCount>,
    /// How much each server's transport adds to a page, if each was tried by itself; found in the comparison in which
    /// all servers were moved together.
    #[serde(default)]
    pub bill: Option<TrialBill>,
}

/// How much TCP adds to a page, by server, and for all servers together.
///
/// Computed from blocks. A block holds the epochs with the same number of all contrasts; their order was drawn by
/// chance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialBill {
    /// Whether the supervisor's time is subtracted from the pages' times.
    pub without_supervisor: bool,
    /// The servers that were tried by themselves.
    pub parts: Vec<TrialPart>,
    /// Time that all of them add together, measured directly, µs per page.
    pub in_all_us: Figure,
    /// CPU time that all of them add together, measured directly, µs per page.
    pub in_all_cpu_us: Figure,
    /// `in_all_us` minus the sum of the parts, computed block by block, µs per page.
    pub left_over_us: Figure,
}

/// How much one server's transport adds to a page, averaged over the transports of the other servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialPart {
    /// The server, as index into `servers`.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub server: u32,
    /// Added time, µs per page.
    pub time_us: Figure,
    /// Added CPU time of the application, and of its servers where their processes are known, µs per page.
    pub cpu_us: Figure,
}

/// How the arms took turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialDesign {
    /// Within one process, slice by slice: the application opens new connections for its pages.
    Flip,
    /// By restarting the application for each slice: it keeps its connections within a slice.
    Restart,
}

/// A page as the first look saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialPage {
    /// Its address, passwords hidden.
    pub url: String,
    /// The status of its answer.
    #[serde(deserialize_with = "HttpStatus::read")]
    #[schemars(with = "HttpStatus")]
    pub status: u16,
    /// The smallest and the largest size of its body.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub body_bytes: [u64; 2],
}

/// A server behind the application, and its two transports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialServer {
    /// Its program: `mariadbd`, `redis-server`, …; the first address if the program is not known.
    pub kind: String,
    /// The addresses whose connections are moved.
    pub from: Vec<String>,
    /// The socket to which they are moved.
    pub socket: String,
    /// Its process, if known; `null` for a server that the application's command starts, since each start has another
    /// process.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
}

/// Observations of an arm while it was measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrialArm {
    /// Number of slices.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_slices: u64,
    /// Pages that were answered as expected.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_pages: u64,
    /// Pages that failed: no answer, another status, or a body in another size class.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_failed: u64,
    /// The application's connections, by server.
    pub connections: Vec<TrialConnections>,
    /// Time that the supervisor spent on the connections, µs per page: it is part of the pages' time, but not of the
    /// cost for an application whose configuration names the socket.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub supervisor_us_per_page: f64,
}

/// The fate of an application's connections to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrialConnections {
    /// Moved to the socket.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_moved: u64,
    /// Left on TCP, because the arm was TCP.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_left: u64,
    /// On TCP although they should have been moved to the socket.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_not_moved: u64,
    /// Slices in which the application had any connection to the server.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_slices: u64,
}

/// A server's count of the application's requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialCount {
    /// The server, as index into `servers`.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub server: u32,
    /// The counter's own name: `Questions`, `total_commands_processed`.
    pub counter: String,
    /// Requests per page.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_page: f64,
    /// Time that these requests took by the server's own clock, µs per page, if the server reports it.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub us_per_page: Option<f64>,
}
