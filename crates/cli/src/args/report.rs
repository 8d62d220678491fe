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
    /// Instead of a page, write the figures for a pool of results there, one line of JSON: kernel, CPU, servers' versions, and
    /// no host, path, label, user or script; `-` prints it.
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) publish: Option<PathBuf>,
}
