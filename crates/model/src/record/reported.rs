//! The results of `looptax fleet send` and `looptax fleet init`.
//!
//! JSON forms separate from records of runs.

use crate::stats::range::{Count, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reports that were sent to a collector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reported {
    /// The collector's address, without its password.
    pub collector: String,
    /// Reports that were stored at the collector, including earlier ones that had waited.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub reports: u64,
    /// Findings in them.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub findings: u64,
    /// Verdicts in them.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub verdicts: u64,
    /// Reports that still wait.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub waiting: u64,
    /// The file whose existence kept looptax from doing anything, if there is one.
    pub stopped_by: Option<String>,
    /// Notes for a person.
    pub notes: Vec<String>,
}

/// Tables and views of a collector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollectorTables {
    /// The engine with its version.
    pub engine: String,
    /// The tables' version before; 0 if there were none.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub from_version: u32,
    /// The tables' version afterwards.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub version: u32,
    /// The objects that were made or changed, in order; empty if nothing had to change.
    pub done: Vec<String>,
    /// Features that this engine's version lacks, and the replacements.
    pub lacks: Vec<String>,
}
