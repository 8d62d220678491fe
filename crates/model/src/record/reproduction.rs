//! Published comparisons that looptax measured again, as `looptax reproduce` prints and saves them.
//!
//! A JSON form separate from records of runs; it lists the runs by name. Holds the published figures, the figures that
//! were measured here, and the causes of the difference.

use crate::stats::range::{AtLeastOne, Count, Index, Real, SmallCount, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Host, ReproductionFinding, ReproductionReason, ServerCount};

/// The version of [`Reproduction`]. Raised when a field changes its meaning or is removed.
pub const REPRODUCTION_SCHEMA_VERSION: u32 = 2;

/// Some published comparisons, with the published and the measured figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduction {
    /// The version of this form: [`REPRODUCTION_SCHEMA_VERSION`].
    #[schemars(extend("const" = REPRODUCTION_SCHEMA_VERSION))]
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of looptax that measured.
    pub looptax_version: String,
    /// Start, RFC 3339.
    pub started_at: String,
    /// End, RFC 3339.
    pub finished_at: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// Whether there were fewer epochs and points than usual.
    pub quick: bool,
    /// The requested share of the published amounts of data; `null` for the amounts that fit the time.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub scale: Option<f64>,
    /// The machine.
    pub host: Host,
    /// One part for each publication.
    pub parts: Vec<ReproductionPart>,
    /// Disturbances of the whole reproduction, a sentence each.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

/// One publication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionPart {
    /// The word on the command line for it: `kawin`.
    pub name: String,
    /// The published article.
    pub article: Article,
    /// The measurements, in the order of time.
    pub steps: Vec<ReproductionStep>,
    /// The claims, each with the measurement that tests it.
    pub rows: Vec<ReproductionRow>,
    /// Throughput over the number of connections, if that was published.
    #[serde(default)]
    pub points: Vec<ReproductionPoint>,
    /// Attempts to reach a figure that no other measurement has reproduced.
    #[serde(default)]
    pub trials: Vec<ReproductionTrial>,
    /// The conclusions from the rows together.
    #[serde(default)]
    pub findings: Vec<ReproductionFinding>,
    /// In which respects this was smaller than the published comparison, a sentence each.
    #[serde(default)]
    pub smaller: Vec<String>,
    /// Parts that could not be measured, and how to make them measurable, a sentence each.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// A published comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Article {
    /// Its title.
    pub title: String,
    /// Who wrote it, and when.
    pub author: String,
    /// The article's address; `null` if looptax does not know one.
    #[serde(default)]
    pub url: Option<String>,
    /// The system that it ran on.
    pub system: String,
    /// The workload of the server.
    pub workload: String,
}

/// One comparison that was made for the article; anyone can repeat it by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionStep {
    /// The comparison, for a person.
    pub what: String,
    /// The command line that does the same.
    pub command: String,
    /// The name of the run's record; `null` if nothing was measured.
    pub run: Option<String>,
    /// Path of the record.
    pub path: Option<String>,
}

/// A claim and its measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionRow {
    /// The claim's name.
    pub claim: String,
    /// The subject of the comparison, for a person.
    pub what: String,
    /// The two arms, baseline first.
    pub arms: [String; 2],
    /// The unit of the published and the measured figure.
    pub unit: ReproductionUnit,
    /// The published figure; `null` if the article has no figure for this part.
    pub published: Option<Published>,
    /// The figure that was measured here.
    pub measured: Figure,
    /// The figures of the two arms, baseline first.
    pub sides: [ReproductionSide; 2],
    /// How the measured figure agrees with the published one; `null` if nothing was published.
    pub verdict: Option<ReproductionVerdict>,
    /// Proof that the measurement did the work that the claim is about.
    pub proof: ReproductionProof,
    /// Reasons why the two figures differ.
    pub reasons: Vec<ReproductionReason>,
    /// The step that it comes from, as index into `steps`.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub step_idx: u32,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The figure as it was published.
    pub words: String,
    /// The figure in the row's unit.
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

/// The unit of a row's figures. In every unit a larger figure means a higher cost of the other arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReproductionUnit {
    /// Percent of the baseline's throughput that the other arm loses.
    TaxPct,
    /// Percent of the baseline's time that the other arm adds.
    AddedPct,
    /// A multiple of the baseline's time or rate.
    Times,
    /// Percent of a whole that belongs to the other arm.
    SharePct,
}

/// A measured figure compared with the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReproductionVerdict {
    /// The interval holds the published figure and stays near it: between half and twice that effect.
    AsPublished,
    /// The effect has the published direction and is smaller.
    Smaller,
    /// The effect has the published direction and is larger.
    Larger,
    /// The effect has the opposite direction.
    Opposite,
    /// The interval holds zero and not the published figure.
    NotSeen,
    /// The interval is too wide to decide, there is no interval, or other processes disturbed the measurement.
    Inconclusive,
    /// The measurement cannot be used.
    Invalid,
}

/// The figure of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionSide {
    /// The measured figure, in the field's unit.
    pub figure: Figure,
    /// Its unit.
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

/// Counts of the work that was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionProof {
    /// Rows or keys that the requests chose from.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub rows: Option<u64>,
    /// Requests that were answered, over both arms.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub requests: u64,
    /// The server's own count and looptax's, over all arms and the warm-up.
    pub server_count: Option<ServerCount>,
    /// Bytes that were streamed, over both arms.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub streamed_bytes: Option<u64>,
    /// Whole commands that ran, over both arms.
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
    /// Queries per page: the fewest and the most.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "[SmallCount; 2]")]
    pub queries: [u32; 2],
}

/// Throughput at a number of connections.
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
    /// The server's CPU time by function, the largest first; empty if it was not sampled.
    #[serde(default)]
    pub hottest: Vec<HotFunction>,
}

/// A function's share of the server's CPU time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotFunction {
    /// Its name.
    pub name: String,
    /// Whether the function belongs to the kernel.
    pub is_kernel: bool,
    /// Percent of the server's CPU time, over both arms together.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub share_pct: f64,
}

/// An attempt to reach a published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionTrial {
    /// The attempt.
    pub what: String,
    /// Mean time per message on the socket and over TCP, µs.
    pub mean_us: [Figure; 2],
    /// Messages on both arms together.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_messages: u64,
    /// Whether TCP's figure is within a factor of two of the published one.
    pub is_near: bool,
}

/// The JSON Schema (draft 2020-12) of a saved [`Reproduction`].
pub fn reproduction_schema() -> serde_json::Value {
    crate::record::schema_of::<Reproduction>()
}
