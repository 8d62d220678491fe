//! What `show`, `diff` and `gate` take.

use std::path::PathBuf;

use clap::Args;
use looptax_experiment::spec::typed;

use super::{DetailArgs, JsonArgs};

/// Options of `show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// Runs by name, label, `last` or record file; without one the runs are listed.
    ///
    /// The beginning of a name is enough. Several runs are shown one after the other, or on one page (--html).
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// List at most N runs, the newest first.
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) most: u32,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Write a page with tables and charts; `-` prints it.
    ///
    /// The page needs nothing outside itself, and holds all runs that are named.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// What is printed of a run.
    #[command(flatten)]
    pub(crate) detail: DetailArgs,
    /// What else to write.
    #[command(flatten)]
    pub(crate) formats: FormatArgs,
    /// Write the figures for a pool of results as a line of JSON; `-` prints it.
    ///
    /// It has kernel, CPU and versions of servers, and no host, path, label, user or script. A file that exists is kept.
    #[arg(long, value_name = "FILE", help_heading = "Formats")]
    pub(crate) publish: Option<PathBuf>,
    /// Remove the runs from the list, and their records.
    ///
    /// A record that was saved elsewhere with -o stays there.
    #[arg(long, conflicts_with_all = ["json", "html", "publish"])]
    pub(crate) forget: bool,
}

/// Options of `diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffArgs {
    /// The earlier run: its record, name or label, or a name of `watch --save`.
    #[arg(value_name = "A")]
    pub(crate) before: String,
    /// The later one.
    #[arg(value_name = "B")]
    pub(crate) after: String,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Options of `gate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GateArgs {
    /// A run: its name, its label, `last` or a record file.
    #[arg(value_name = "RECORD")]
    pub(crate) record: String,
    /// Most throughput that a transport may lose: 20%.
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true, required_unless_present = "max_page_time")]
    pub(crate) max_tax: Option<f64>,
    /// Of a trial: how much longer a page may take: +2%.
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true, conflicts_with = "max_tax")]
    pub(crate) max_page_time: Option<f64>,
    /// Only this transport (default: all but the baseline).
    #[arg(long, value_name = "ARM")]
    pub(crate) arm: Option<String>,
}

/// A record's small formats.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FormatArgs {
    /// Write Markdown; `-` prints it.
    ///
    /// Write Markdown for a pull request or an issue there; `-` prints it instead of the table.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
    /// Write the figures as CSV; `-` prints them.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write OpenMetrics; `-` prints it.
    ///
    /// Write OpenMetrics text there, for the node exporter's textfile folder, readable by all whatever the umask is; `-`
    /// prints it.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Write JSON for benchmark actions; `-` prints it.
    ///
    /// Write JSON for continuous-benchmark actions (customSmallerIsBetter) there; `-` prints it.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) benchmark_json: Option<PathBuf>,
    /// Write call chains of `why` for flame graphs; `-` prints them.
    ///
    /// Write the call chains of `why` there, folded as flame graph programs read them: arm, process and functions with
    /// `;` between them, then nanoseconds of CPU time per 1000 requests; `-` prints them.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) folded: Option<PathBuf>,
    /// Write call chains of `why` for pprof; `-` prints them.
    ///
    /// Write the same chains there as `go tool pprof` and its like read them, each with its arm as a label: `pprof
    /// -tagroot arm FILE`; `-` prints the bytes.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) pprof: Option<PathBuf>,
}

impl FormatArgs {
    /// Whether one of them was typed.
    pub(crate) fn is_any(&self) -> bool {
        let Self { md, csv, openmetrics, benchmark_json, folded, pprof } = self;
        [md, csv, openmetrics, benchmark_json, folded, pprof].into_iter().any(Option::is_some)
    }
}

/// `20%` or `20`.
fn percent(typed: &str) -> Result<f64, String> {
    typed::percent(typed)
        .filter(|it| (-100.0..=100.0).contains(it))
        .ok_or_else(|| "a percentage of throughput, as 20%".to_owned())
}
