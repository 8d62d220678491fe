//! Options of `watch`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{CaptureArgs, JsonArgs};

/// Options of `watch`.
#[derive(Debug, Clone, Args)]
pub(crate) struct WatchArgs {
    /// Count once, print and exit.
    ///
    /// The count takes the time of --for. Ctrl-C ends it earlier, with exit code 130.
    #[arg(long)]
    pub(crate) once: bool,
    /// How long to count: 10s, 5m.
    ///
    /// Default: 10s with --once, 1m with --save, otherwise until Ctrl-C.
    #[arg(long = "for", value_name = "TIME", value_parser = super::switch::duration)]
    pub(crate) time: Option<Duration>,
    /// Time between two snapshots: 1s, 2s, 1m.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = super::switch::duration, conflicts_with_all = ["once", "save"])]
    pub(crate) every: Duration,
    /// Include programs that looptax does not know as servers.
    ///
    /// For example the desktop bus and the journal.
    #[arg(long)]
    pub(crate) all: bool,
    /// Include clients and servers on other machines.
    ///
    /// Also includes connections whose addresses are rewritten on the way, such as connections to a container's
    /// published port. Each request then costs more to count.
    #[arg(long)]
    pub(crate) elsewhere: bool,
    /// Write OpenMetrics: counters, and a histogram of response times.
    ///
    /// For the textfile folder of Prometheus's node exporter. The counters begin at the start of `watch`; the file is
    /// rewritten at each snapshot. With --once the file has gauges of the one count, and `-` prints them.
    #[arg(long, value_name = "FILE")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Count requests, save the counts under NAME or in FILE for `diff`, and exit.
    ///
    /// A name with `/` in it or `.json` at its end is a file. looptax replaces older counts of this name. To compare
    /// two saved counts: `looptax diff before after`.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) save: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) capture: CaptureArgs,
}
