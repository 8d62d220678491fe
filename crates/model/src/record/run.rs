//! The record itself: the head of the file and what it holds.
//!
//! See the crate's own page for what is deliberately absent.

use crate::stats::range::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Comparison, Hex64, Host, Look, METHOD_VERSION, Remedies, SCHEMA_VERSION, Storms};

/// All that one command measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The version of this form: [`SCHEMA_VERSION`].
    #[schemars(extend("const" = SCHEMA_VERSION))]
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of the method; records of different ones are not compared.
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub method_version: u32,
    /// The version of looptax that measured.
    pub looptax_version: String,
    /// A name for this run that no other has.
    pub id: String,
    /// The name that its user gave it: `before-kernel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Start, RFC 3339.
    pub started_at: String,
    /// End, RFC 3339; `null` while running and after an interruption that left no time to say.
    pub finished_at: Option<String>,
    /// The command line, passwords removed.
    pub command: Vec<String>,
    /// The seed of every random choice.
    pub seed: Hex64,
    /// The machine.
    pub host: Host,
    /// The comparisons that were judged, in the order of measuring.
    #[serde(deserialize_with = "crate::record::consistent::read")]
    pub comparisons: Vec<Comparison>,
    /// The comparisons that were looked at and not judged.
    #[serde(default)]
    pub looks: Vec<Look>,
    /// Storms of connections, if they were asked for in place of comparisons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storms: Option<Storms>,
    /// The remedies, if they were asked for, by number of connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedies>,
    /// Problems that did not end the run: a server that did not start, a file not readable.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Whether the run was broken off.
    pub interrupted: bool,
}

impl Record {
    /// A record of this form and method in which nothing is measured yet.
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
    /// Whether nothing is measured in it.
    pub fn is_empty(&self) -> bool {
        self.comparisons.is_empty() && self.looks.is_empty() && self.storms.is_none()
    }
}
