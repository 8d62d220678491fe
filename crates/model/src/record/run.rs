//! The record of a run: the head of the file and its contents.
//!
//! The crate's documentation lists data that a record deliberately does not have.

use crate::stats::range::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Comparison, Hex64, Host, Look, METHOD_VERSION, Remedies, SCHEMA_VERSION, Storms};

/// All measurements of one command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The version of this form: [`SCHEMA_VERSION`].
    #[schemars(extend("const" = SCHEMA_VERSION))]
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of the method; records with different versions are not compared.
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub method_version: u32,
    /// The version of looptax that made the measurements.
    pub looptax_version: String,
    /// A unique name of this run.
    pub id: String,
    /// The name that the user gave to the run: `before-kernel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Time at which the run started, RFC 3339.
    pub started_at: String,
    /// Time at which the run ended, RFC 3339; `null` while the run lasts, and after an interruption that left no time
    /// to save the record.
    pub finished_at: Option<String>,
    /// The command line, without passwords.
    pub command: Vec<String>,
    /// The seed from which all random choices of the run follow.
    pub seed: Hex64,
    /// The machine.
    pub host: Host,
    /// The comparisons that were judged, in the order in which they were measured.
    #[serde(deserialize_with = "crate::record::consistent::read")]
    pub comparisons: Vec<Comparison>,
    /// Placements that were measured for some seconds, without a verdict.
    #[serde(default)]
    pub looks: Vec<Look>,
    /// The connection storms, if the run measured storms and no comparisons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storms: Option<Storms>,
    /// The remedies, for each number of connections, if the run measured remedies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedies>,
    /// Problems that did not end the run: for example, a server did not start, or a file could not be read.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Whether the run was interrupted.
    pub interrupted: bool,
}

impl Record {
    /// Makes a record with the current versions of the form and the method, and without any measurement.
    pub fn begun(id: String, started_at: String, looptax_version: &str) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            method_version: METHOD_VERSION,
            looptax_version: looptax_version.to_owned(),
            id,
            label: None,
            started_at,
            finished_at: None,
            command: Vec::new(),
            seed: Hex64(0),
            host: Host::default(),
            comparisons: Vec::new(),
            looks: Vec::new(),
            storms: None,
            remedies: Vec::new(),
            problems: Vec::new(),
            interrupted: false,
        }
    }
    /// Returns whether the record has no measurement.
    pub fn is_empty(&self) -> bool {
        self.comparisons.is_empty() && self.looks.is_empty() && self.storms.is_none()
    }
}
