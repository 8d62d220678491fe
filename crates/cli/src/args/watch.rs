//! What `watch` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{CaptureArgs, JsonArgs};

/// Options of `watch`.
#[derive(Debug, Clone, Args)]
pub(crate) struct WatchArgs {
    /// Count once, print and exit.
    ///
    /// One look: count for the time of --for, print, and end; Ctrl-C ends it earlier, with exit code 130.
    #[arg(long)]
    pub(crate) once: bool,
    /// How long to count: 10s, 5m.
    ///
    /// How long to count: 10s, 5m. Default: 10s with --once, 1m with --save, else until Ctrl-C.
    #[arg(long = "for", value_name = "TIME", value_parser = super::switch::duration)]
    pub(crate) time: Option<Duration>,
    /// Time between two looks: 1s, 2s, 1m.
    ///
    /// The time from look to look, without --once: 1s, 2s, 1m.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = super::switch::duration, conflicts_with_all = ["once", "save"])]
    pub(crate) every: Duration,
    /// Include programs that are not known as servers.
    ///
    /// Include programs that looptax does not know as servers, such as the desktop bus and the journal.
    #[arg(long)]
    pub(crate) all: bool,
    /// Include clients and servers on other machines.
    ///
    /// Also clients and servers of other machines, and connections whose addresses are rewritten on the way, as those of a
    /// published port may be; each request costs more then.
    #[arg(long)]
    pub(crate) elsewhere: bool,
    /// Write OpenMetrics: counters and a histogram of times.
    ///
    /// Write OpenMetrics there, for the node exporter's folder of text files: counters and a histogram of times since the
    /// start, renewed at each look; with --once gauges of that look, which `-` prints.
    #[arg(long, value_name = "FILE")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Count once and keep it under this name, for `diff`.
    ///
    /// Count once and keep it under this name, or in this file (a name with `/` in it or `.json` at its end), for `looptax
    /// diff before after`; what has the name is replaced.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) save: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) capture: CaptureArgs,
}
