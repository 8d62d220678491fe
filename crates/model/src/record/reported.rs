//! The results of `looptax fleet send` and `looptax fleet init`.
//!
//! JSON forms separate from records of runs.

use crate::stats::range::{Count, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reports that `fleet send` sent to a collector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reported {
    /// The collector's address, without its password.
    pub collector: String,
    /// Number of reports that were stored at the collector, including earlier reports that had waited.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub reports: u64,
    /// Number of findings in these reports.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub findings: u64,
    /// Number of verdicts in these reports.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub verdicts: u64,
    /// Number of reports that still wait to be sent.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub waiting: u64,
    /// The file that stopped looptax: if it exists, looptax does nothing; `null` if there is no such file.
    pub stopped_by: Option<String>,
    /// Notes for a person.
    pub notes: Vec<String>,
}

/// The tables and views of a collector, after `fleet init`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollectorTables {
    /// The collector's engine and the engine's version.
    pub engine: String,
    /// The version of the tables before the command ran; 0 if there were no tables.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub from_version: u32,
    /// The version of the tables afterwards.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub version: u32,
    /// The tables and views that were made or changed, in order; empty if no change was necessary.
    pub done: Vec<String>,
    /// Features that this engine's version does not have, each with its replacement.
    pub lacks: Vec<String>,
}
