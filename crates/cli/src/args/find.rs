//! What `find` takes.

use std::path::PathBuf;

use clap::Args;

use super::JsonArgs;

/// Options of `find`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is typed or not")]
pub(crate) struct FindArgs {
    /// Look once, without rates.
    ///
    /// One look, without rates: two looks take a second.
    #[arg(hide_short_help = true, long, conflicts_with = "watch")]
    pub(crate) once: bool,
    /// Look again every two seconds, until Ctrl-C.
    ///
    /// Look again every two seconds, until Ctrl-C; with --json one object a line for each look.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print every client, address, hop and note.
    ///
    /// Print every client, address, hop and note: without it the output is at most 40 lines.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Measure what a request over TCP costs here (ten seconds).
    ///
    /// Measure what a request over TCP costs here (ten seconds, built-in echo server), for the CPU
    /// time that is lost.
    #[arg(long)]
    pub(crate) measure: bool,
    /// Wait if another looptax measures on this machine.
    #[arg(long, requires = "measure")]
    pub(crate) wait: bool,
    /// Take that cost from this record.
    ///
    /// Take that cost from this record of `compare`. Default: the newest of each kind of server in
    /// the history.
    #[arg(long, value_name = "RECORD", conflicts_with = "measure")]
    pub(crate) record: Option<PathBuf>,
    /// Write gauges as OpenMetrics; `-` prints them.
    ///
    /// Write gauges of what is found there, as OpenMetrics: for the node exporter's folder of text files, readable by
    /// all whatever the umask is; `-` prints them.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub(crate) openmetrics: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
