//! Published comparisons that looptax measured again, as `looptax reproduce` prints and saves them.
//!
//! A JSON form separate from records of runs; the form refers to the runs by name. It holds the published figures, the
//! figures that looptax measured, and the causes of the differences.

use crate::stats::range::{AtLeastOne, Count, Index, Real, SmallCount, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Host, ReproductionFinding, ReproductionReason, ServerCount};

/// The version of [`Reproduction`]. It is raised if a field changes its meaning or is removed.
pub const REPRODUCTION_SCHEMA_VERSION: u32 = 2;

/// One or more published comparisons, with the published and the measured figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduction {
    /// The version of this form: [`REPRODUCTION_SCHEMA_VERSION`].
    #[schemars(extend("const" = REPRODUCTION_SCHEMA_VERSION))]
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of looptax that made the measurements.
    pub looptax_version: String,
    /// Time of the start, RFC 3339.
    pub started_at: String,
    /// Time of the end, RFC 3339.
    pub finished_at: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// Whether fewer epochs and points than usual were measured.
    pub quick: bool,
    /// The share of the published amounts of data that the user requested; `null` if looptax chose amounts that fit
    /// the available time.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub scale: Option<f64>,
    /// The machine.
    pub host: Host,
    /// The publications, with the measurements for each.
    pub parts: Vec<ReproductionPart>,
    /// Problems that disturbed the whole reproduction, each as a sentence.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Whether the reproduction was interrupted.
    pub interrupted: bool,
}

/// A publication, and its measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionPart {
    /// The publication's name on the command line: `kawin`.
    pub name: String,
    /// The published article.
    pub article: Article,
    /// The measurements, in order of time.
    pub steps: Vec<ReproductionStep>,
    /// The claims, each with the measurement that tests the claim.
    pub rows: Vec<ReproductionRow>,
    /// Throughput for each number of connections, if the article has such figures.
    #[serde(default)]
    pub points: Vec<ReproductionPoint>,
    /// Additional attempts to measure a published figure, if no other measurement reproduced the figure.
    #[serde(default)]
    pub trials: Vec<ReproductionTrial>,
    /// Conclusions from all rows together.
    #[serde(default)]
    pub findings: Vec<ReproductionFinding>,
    /// In which respects this reproduction was smaller than the published comparison, each as a sentence.
    #[serde(default)]
    pub smaller: Vec<String>,
    /// Parts that could not be measured, each as a sentence that also says what would make the measurement possible.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// A published comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Article {
    /// The article's title.
    pub title: String,
    /// The article's author and date.
    pub author: String,
    /// The article's address; `null` if looptax does not know it.
    #[serde(default)]
    pub url: Option<String>,
    /// The system on which the published comparison ran.
    pub system: String,
    /// The workload of the server.
    pub workload: String,
}

/// A comparison that looptax made to test the article's claims; a user can repeat it by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionStep {
    /// A description of the comparison, for a person.
    pub what: String,
    /// The command line with which a user can repeat this comparison.
    pub command: String,
    /// The name of the run whose record has the measurement; `null` if nothing was measured.
    pub run: Option<String>,
    /// Path of the record.
    pub path: Option<String>,
}

/// A published claim, and the measurement that tests it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionRow {
    /// The name of the claim.
    pub claim: String,
    /// A description of what is compared, for a person.
    pub what: String,
    /// The two arms, baseline first.
    pub arms: [String; 2],
    /// The unit of the published and the measured figure.
    pub unit: ReproductionUnit,
    /// The published figure; `null` if the article has no figure for this part.
    pub published: Option<Published>,
    /// The figure that looptax measured.
    pub measured: Figure,
    /// The figures of the two arms, baseline first.
    pub sides: [ReproductionSide; 2],
    /// How well the measured figure agrees with the published figure; `null` if nothing was published.
    pub verdict: Option<ReproductionVerdict>,
    /// The proof, by counts, that the measurement did the work to which the claim refers.
    pub proof: ReproductionProof,
    /// Reasons why the two figures differ.
    pub reasons: Vec<ReproductionReason>,
    /// The step in which this row was measured, as an index into `steps`.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub step_idx: u32,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The figure in the article's words.
    pub words: String,
    /// The same figure in the row's unit.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub value: f64,
    /// The smallest value that rounds to the published figure.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub lo: f64,
    /// The largest value that rounds to the published figure.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub hi: f64,
}

/// The unit of a row's figures. In every unit, a larger figure means a higher cost of the other arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReproductionUnit {
    /// Percent of the baseline's throughput that the other arm loses.
    TaxPct,
    /// Percent of the baseline's time that the other arm adds.
    AddedPct,
    /// A multiple of the baseline's time or rate.
    Times,
    /// Percent of a whole, for the share that belongs to the other arm.
    SharePct,
}

/// The result when a measured figure is compared with a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReproductionVerdict {
    /// The interval contains the published figure and stays near it: between half and twice the published effect.
    AsPublished,
    /// The effect has the published direction, and is smaller.
    Smaller,
    /// The effect has the published direction, and is larger.
    Larger,
    /// The effect has the opposite direction.
    Opposite,
    /// The interval contains zero but not the published figure.
    NotSeen,
    /// The interval is too wide to decide, there is no interval, or other processes disturbed the measurement.
    Inconclusive,
    /// The measurement cannot be used.
    Invalid,
}

/// The figure of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionSide {
    /// The measured figure.
    pub figure: Figure,
    /// The figure's unit.
    pub unit: SideUnit,
}

/// The unit of the figure of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SideUnit {
    /// Requests per second.
    PerS,
    /// Bytes per second.
    BytesPerS,
    /// Microseconds.
    Us,
    /// Percent of a whole.
    Pct,
}

/// Counts of the work that the measurement did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionProof {
    /// Number of rows or keys from which the requests chose.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub rows: Option<u64>,
    /// Number of requests that were answered, over both arms.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub requests: u64,
    /// The server's own count and looptax's count of the requests, over all arms and including the warm-up.
    pub server_count: Option<ServerCount>,
    /// Number of bytes that were streamed, over both arms.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub streamed_bytes: Option<u64>,
    /// Number of runs of a command that was measured as a whole, over both arms.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub runs: Option<u64>,
    /// The pages of a web site that were loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<ReproductionPages>,
}

/// Pages of a web site that were loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionPages {
    /// Number of pages, over all arms.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n: u64,
    /// Number of queries per page: the smallest and the largest.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "[SmallCount; 2]")]
    pub queries: [u32; 2],
}

/// Throughput at one number of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionPoint {
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub connections: u32,
    /// Requests per second of each arm, baseline first.
    pub per_s: [Figure; 2],
    /// Percent of throughput that the other arm loses.
    pub tax_pct: Figure,
    /// The functions with the most CPU time in the server, the largest first; empty if the CPU time was not sampled.
    #[serde(default)]
    pub hottest: Vec<HotFunction>,
}

/// A function's share of the server's CPU time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotFunction {
    /// The function's name.
    pub name: String,
    /// Whether the function belongs to the kernel.
    pub is_kernel: bool,
    /// Percent of the server's CPU time, over both arms together.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub share_pct: f64,
}

/// An additional attempt to measure a published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionTrial {
    /// A description of the attempt.
    pub what: String,
    /// Mean time per message on the socket and over TCP, µs.
    pub mean_us: [Figure; 2],
    /// Number of messages, both arms together.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_messages: u64,
    /// Whether the measured time over TCP is between half and twice the published time.
    pub is_near: bool,
}

/// Returns the JSON Schema (draft 2020-12) of a saved [`Reproduction`].
pub fn reproduction_schema() -> serde_json::Value {
    crate::record::schema_of::<Reproduction>()
}
