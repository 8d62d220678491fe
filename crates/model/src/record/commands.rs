//! Whole commands, which ran in place of the load generator's requests.
//!
//! The command lines are saved as they were run, except that the passwords that looptax knows are masked. Variables are
//! listed only by name, because their values may be secret.

use crate::stats::range::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The commands of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commands {
    /// The line as it was given, with `{transport}`; `null` if each arm was given its own line.
    pub template: Option<String>,
    /// The command lines that ran, one for each arm, in the order of the arms.
    pub lines: Vec<CommandLine>,
    /// The longest time that a run was allowed to take.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub timeout_s: u64,
}

/// The command line that ran on one arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandLine {
    /// The arm.
    pub arm: String,
    /// Its words, quoted for a shell.
    pub line: String,
    /// Names of the environment variables that were set for the command.
    #[serde(default)]
    pub variables: Vec<String>,
}
