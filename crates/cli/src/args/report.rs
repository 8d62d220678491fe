//! Options of `report`.

use std::path::PathBuf;

use clap::Args;

/// Options of `report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// Records saved by `compare`, or names of runs in the history (`last`).
    #[arg(value_name = "RECORD", required = true)]
    pub(crate) records: Vec<String>,
    /// Where the page goes; `-` prints it. Default: the first record's name with `.html`, in this folder, unless
    /// it exists.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
