//! The user's commands that looptax ran and timed as a whole; the load generator then sent no requests.
//!
//! The command lines are saved as they were run, but the passwords that looptax knows are masked. Only the names of
//! environment variables are saved, because their values may be secret.

use crate::stats::range::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The commands of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commands {
    /// The command line as the user gave it, with `{transport}`; `null` if the user gave a separate line for each arm.
    pub template: Option<String>,
    /// The command lines that ran, one for each arm, in the order of the arms.
    pub lines: Vec<CommandLine>,
    /// The time limit of a run.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub timeout_s: u64,
}

/// The command line that ran on one arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandLine {
    /// The arm.
    pub arm: String,
    /// The command and its arguments, quoted for a shell.
    pub line: String,
    /// Names of the environment variables that were set for the command.
    #[serde(default)]
    pub variables: Vec<String>,
}
