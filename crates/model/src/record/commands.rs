//! Whole commands: what ran where otherwise a load generator sends requests.
//!
//! Command lines as they were run, with the passwords that looptax knows blotted out. Variables are
//! listed only by name, because their values may be secret.

use crate::stats::range::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The commands of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commands {
    /// The line as it was given, with `{transport}`; `null` where each arm was given its own.
    pub template: Option<String>,
    /// The command lines that ran, one for each arm, in their order.
    pub lines: Vec<CommandLine>,
    /// How long a run was allowed to take.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub timeout_s: u64,
}

/// The command line that ran on one arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandLine {
    /// The arm.
    pub arm: String,
    /// Its words, quoted as for a shell.
    pub line: String,
    /// Names of the environment variables that were set for it.
    #[serde(default)]
    pub variables: Vec<String>,
}
