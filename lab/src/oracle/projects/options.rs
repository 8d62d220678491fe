//! The options of `cargo lab oracle projects`.

use std::path::PathBuf;

/// Options of `projects`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Number of projects
    #[arg(long, default_value_t = 200)]
    pub(super) draws: u64,
    /// The seed of the first project; the next projects have the following seeds. Random if not given
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Run only these forms
    #[arg(long)]
    pub(super) form: Vec<String>,
    /// Number of parts that run at the same time, each with its own servers
    #[arg(long, default_value_t = 2)]
    pub(super) parts: u64,
    /// Print the forms, and stop
    #[arg(long)]
    pub(super) list: bool,
    /// Write the observations of each project to this file
    #[arg(long)]
    pub(super) reports: Option<PathBuf>,
    /// Another program instead of the one of this checkout
    #[arg(long)]
    pub(super) looptax: Option<PathBuf>,
    #[arg(long, hide = true)]
    pub(super) part: Option<u64>,
    #[arg(long, hide = true)]
    pub(super) scratch: Option<PathBuf>,
}
