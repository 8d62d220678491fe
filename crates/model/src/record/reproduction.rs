//! Published comparisons measured again, as `looptax reproduce` prints and saves them.
//!
//! Its own JSON, apart from records of runs, which it names. Holds the published figures, those that were measured
//! here, and the causes of the difference.

use crate::stats::range::{AtLeastOne, Count, Index, Real, SmallCount, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Host, ReproductionFinding, ReproductionReason, ServerCount};

/// The version of [`Reproduction`]. Raised when a field changes its meaning or goes away.
pub const REPRODUCTION_SCHEMA_VERSION: u32 = 2;

/// Some published comparisons, published beside measured.
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
    /// Whether epochs and points were fewer than usual.
    pub quick: bool,
    /// Share of the published amounts of data that was asked for; `null` for what fits the time.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub scale: Option<f64>,
    /// The machine.
    pub host: Host,
    /// One for each publication.
    pub parts: Vec<ReproductionPart>,
    /// The disturbances of the whole of it, a sentence each.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Whether it was broken off.
    pub interrupted: bool,
}

/// One publication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionPart {
    /// The word that asks for it: `kawin`.
    pub name: String,
    /// The published article.
    pub article: Article,
    /// The measurements, in the order of time.
    pub steps: Vec<ReproductionStep>,
    /// The claims, and what was found.
    pub rows: Vec<ReproductionRow>,
    /// Throughput over connections, where that was published.
    #[serde(default)]
    pub points: Vec<ReproductionPoint>,
    /// Attempts at a figure that no other measurement has shown.
    #[serde(default)]
    pub trials: Vec<ReproductionTrial>,
    /// The conclusions from the rows together.
    #[serde(default)]
    pub findings: Vec<ReproductionFinding>,
    /// How much smaller this was than what was published, a sentence each.
    #[serde(default)]
    pub smaller: Vec<String>,
    /// The parts that could not be measured and their remedies, a sentence each.
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
    /// Where it is to be read; `null` where looptax does not know.
    #[serde(default)]
    pub url: Option<String>,
    /// The system that it ran on.
    pub system: String,
    /// The workload of the server.
    pub workload: String,
}

/// One comparison that was made for it, as anybody can repeat it by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionStep {
    /// What, for a person.
    pub what: String,
    /// The command line that does the same.
    pub command: String,
    /// The name of the run that it left; `null` if nothing was measured.
    pub run: Option<String>,
    /// Where its record was saved.
    pub path: Option<String>,
}

/// A claim beside what was measured.
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
    /// The published figure; `null` for a part that was not published.
    pub published: Option<Published>,
    /// The figure that was measured here.
    pub measured: Figure,
    /// The two arms, each by itself, baseline first.
    pub sides: [ReproductionSide; 2],
    /// How the two agree; `null` if nothing was published.
    pub verdict: Option<ReproductionVerdict>,
    /// That the work was done which the claim is about.
    pub proof: ReproductionProof,
    /// Why the two differ.
    pub reasons: Vec<ReproductionReason>,
    /// The step that it comes from, as index into the part's.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub step_idx: u32,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// As it was stated.
    pub words: String,
    /// In the row's unit.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub value: f64,
    /// The least that rounds to what was stated.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub lo: f64,
    /// The most that does.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub hi: f64,
}

/// The unit of a row's figures. All grow with the cost of the other arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReproductionUnit {
    /// Percent of the baseline's throughput that the other way loses.
    TaxPct,
    /// Percent of the baseline's time that the other way adds.
    AddedPct,
    /// How many times the baseline's time or rate.
    Times,
    /// Percent of a whole that the other way's part is.
    SharePct,
}

/// A measured figure compared with the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReproductionVerdict {
    /// The interval holds the published figure and is near it: between half and twice that effect.
    AsPublished,
    /// The same way round, and less of it.
    Smaller,
    /// The same way round, and more of it.
    Larger,
    /// The other way round.
    Opposite,
    /// The interval holds zero and not the published figure.
    NotSeen,
    /// The interval is too wide to say, there is none, or others disturbed what it was made from.
    Inconclusive,
    /// The measurement cannot be used.
    Invalid,
}

/// One way by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionSide {
    /// The measured figure, in the field's unit.
    pub figure: Figure,
    /// Its unit.
    pub unit: SideUnit,
}

/// The unit of a way's own figure.
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

/// The counts of the work that was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionProof {
    /// Rows or keys that requests chose from.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub rows: Option<u64>,
    /// Requests that were answered, over both arms.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub requests: u64,
    /// The server's own count beside looptax's, over all ways and the warm-up.
    pub server_count: Option<ServerCount>,
    /// Bytes that were streamed, over both arms.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub streamed_bytes: Option<u64>,
    /// Whole commands that ran, over both arms.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub runs: Option<u64>,
    /// Pages of a web site that were loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<ReproductionPages>,
}

/// Pages that were loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionPages {
    /// How many, over all ways.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n: u64,
    /// Queries of one, the least and the most.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "[SmallCount; 2]")]
    pub queries: [u32; 2],
}

/// Throughput at a number of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionPoint {
    /// Connections per way.
    #[serde(deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub connections: u32,
    /// Requests per second of each way, baseline first.
    pub per_s: [Figure; 2],
    /// Percent of throughput that the other way loses.
    pub tax_pct: Figure,
    /// The server's time by function, the most first; empty if it was not looked at.
    #[serde(default)]
    pub hottest: Vec<HotFunction>,
}

/// A function's share of the server's CPU time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotFunction {
    /// Its name.
    pub name: String,
    /// Whether it is the kernel's.
    pub is_kernel: bool,
    /// Per cent, both arms together.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub share_pct: f64,
}

/// An attempt to come near a published figure.
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
