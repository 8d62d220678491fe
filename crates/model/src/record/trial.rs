//! The behaviour of an application that was tried over both transports: the facts of `looptax trial` beside its
//! figures.
//!
//! The figures are those of any comparison, with a page where others have a request.

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
    /// The pages that were asked for, as they were in the first look; the first of them if there are many.
    pub pages: Vec<TrialPage>,
    /// How many different pages there are.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_pages: u64,
    /// The command that made the load, passwords hidden; `null` where looptax asked for the pages.
    #[serde(default)]
    pub load_command: Option<String>,
    /// The local servers that the application connects to.
    pub servers: Vec<TrialServer>,
    /// The only server whose way differs between the arms, as index into `servers`, if each was tried by itself: the
    /// others' ways were drawn again in each epoch. `null` if all are moved together.
    #[serde(default, deserialize_with = "Index::read")]
    #[schemars(with = "Option<Index>")]
    pub only: Option<u32>,
    /// The observations of each arm, `[baseline, other]`.
    pub arms: [TrialArm; 2],
    /// 95th percentile of a page's time, µs, `[baseline, other]`.
    pub p95_us: [Figure; 2],
    /// The other arm's addition to it, µs.
    pub p95_added_us: Figure,
    /// The other arm's addition to the mean time of a page without the supervisor's part, µs: nearer to what an
    /// application pays whose configuration names an address or a socket.
    pub added_by_configuration_us: Figure,
    /// The servers' counts, all arms together, if they report them.
    #[serde(default)]
    pub counted: Vec<TrialCount>,
    /// The addition of each server's way to a page, if each was tried by itself; it is in the comparison in which all
    /// were moved together.
    #[serde(default)]
    pub bill: Option<TrialBill>,
}

/// TCP's addition to a page, by server, compared with its whole addition.
///
/// Made from blocks: the same-numbered epochs of all contrasts, whose order was drawn by chance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialBill {
    /// Whether the supervisor's time is taken out of the pages' times.
    pub without_supervisor: bool,
    /// The servers that were tried by themselves.
    pub parts: Vec<TrialPart>,
    /// The addition of all of them together, measured as a whole, µs per page.
    pub in_all_us: Figure,
    /// The same of CPU time, µs per page.
    pub in_all_cpu_us: Figure,
    /// The rest of `in_all_us` without the parts, block by block, µs per page.
    pub left_over_us: Figure,
}

/// The addition of one server's way to a page, whatever the others' ways are.
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
    /// Within one process, slice by slice: the application connects again for its pages.
    Flip,
    /// The application was restarted for each slice: it keeps its connections.
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
    /// The least and the most bytes that its body had.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub body_bytes: [u64; 2],
}

/// A server behind the application, and its two transports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialServer {
    /// Its program: `mariadbd`, `redis-server`, …; the first address where that is not known.
    pub kind: String,
    /// The addresses that are moved.
    pub from: Vec<String>,
    /// The socket that they are moved to.
    pub socket: String,
    /// Its process, where known; of one that the application's command starts none, since each start has its own.
    #[serde(default, deserialize_with = "ProcessId::read")]
    #[schemars(with = "Option<ProcessId>")]
    pub pid: Option<u32>,
}

/// The observations of an arm while it counted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrialArm {
    /// Slices.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_slices: u64,
    /// Pages that were answered as they should be.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_pages: u64,
    /// Pages that failed: no answer, another status, another class of size.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_failed: u64,
    /// The application's connections, by server.
    pub connections: Vec<TrialConnections>,
    /// Time that the supervisor spent on them, µs per page: within the pages' time, and no part of what an application
    /// whose configuration names the socket pays.
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
    /// Left on TCP, as this arm's turn was.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_left: u64,
    /// On TCP although they should have been moved.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_not_moved: u64,
    /// Slices in which there was any.
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
    /// Time in them by the server's own clock, µs per page, where it tells.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub us_per_page: Option<f64>,
}
