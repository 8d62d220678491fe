//! Options of `find`.

use std::path::PathBuf;

use clap::Args;

use super::JsonArgs;

/// Options of `find`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each of these fields is an option of the command line")]
pub(crate) struct FindArgs {
    /// Take one snapshot, without rates.
    ///
    /// Rates need two snapshots, a second apart.
    #[arg(hide_short_help = true, long, conflicts_with = "watch")]
    pub(crate) once: bool,
    /// Repeat every two seconds, until Ctrl-C.
    ///
    /// With --json each snapshot is one line of JSON.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print every client, address, hop and note.
    ///
    /// Without this option the output has at most 40 lines.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Measure what a request over TCP costs here (ten seconds).
    ///
    /// looptax measures with its built-in echo server, and estimates the lost CPU time from the result.
    #[arg(long)]
    pub(crate) measure: bool,
    /// Wait if another looptax measures on this machine.
    #[arg(long, requires = "measure")]
    pub(crate) wait: bool,
    /// Take the cost of a request from this record.
    ///
    /// RECORD is a record of `compare`. Default: the newest record in the history for each kind of server.
    #[arg(long, value_name = "RECORD", conflicts_with = "measure")]
    pub(crate) record: Option<PathBuf>,
    /// Write gauges as OpenMetrics; `-` prints them.
    ///
    /// For the textfile folder of Prometheus's node exporter; all users can read the file, regardless of the umask.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub(crate) openmetrics: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
