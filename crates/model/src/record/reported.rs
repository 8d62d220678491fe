//! The results of `looptax fleet send` and `looptax fleet init`.
//!
//! Their own JSON, apart from records of runs.

use crate::stats::range::{Count, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reports that were sent to a collector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reported {
    /// The collector's address, without its password.
    pub collector: String,
    /// Reports that the collector has now; of earlier ones too, which waited.
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
    /// Reports that wait still.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub waiting: u64,
    /// The file that kept looptax from doing anything, if there is one.
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
    /// And after.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub version: u32,
    /// The objects that were made or changed, in order; empty if all was as it should be.
    pub done: Vec<String>,
    /// Features that this engine's version does not have, and the replacements.
    pub lacks: Vec<String>,
}
