//! Options for the small formats of a record, for `show` and every command that measures.

use std::path::PathBuf;

use clap::Args;

/// Options that write a record in further formats.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FormatArgs {
    /// Write Markdown; `-` prints it.
    ///
    /// For a pull request or an issue. `-` prints it instead of the table.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
    /// Write the figures as CSV; `-` prints them.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write OpenMetrics; `-` prints it.
    ///
    /// For the textfile folder of Prometheus's node exporter; all users can read the file, regardless of the umask.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Write JSON for the benchmark actions of GitHub; `-` prints it.
    ///
    /// For continuous-benchmark actions, in the form customSmallerIsBetter.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) benchmark_json: Option<PathBuf>,
    /// Write call chains found by `why`, for flame graphs; `-` prints them.
    ///
    /// Each line has the arm, the process and the functions, separated by `;`, then nanoseconds of CPU time per 1000
    /// requests. Flame graph programs read this folded form.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) folded: Option<PathBuf>,
    /// Write call chains found by `why`, for pprof; `-` prints them.
    ///
    /// For `go tool pprof` and similar programs. Each chain has its arm as a label: `pprof -tagroot arm FILE`.
    #[arg(help_heading = "Formats", hide_short_help = true, long, value_name = "FILE")]
    pub(crate) pprof: Option<PathBuf>,
}

impl FormatArgs {
    /// Whether one of these options was given.
    pub(crate) fn is_any(&self) -> bool {
        let Self { md, csv, openmetrics, benchmark_json, folded, pprof } = self;
        [md, csv, openmetrics, benchmark_json, folded, pprof].into_iter().any(Option::is_some)
    }
}
