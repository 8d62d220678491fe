//! The options that every measuring command has for its result: which files to write, and what to print.

use std::path::PathBuf;

use clap::Args;
use looptax_experiment::spec::typed;
use looptax_report::terminal::Beside;

use super::{FormatArgs, JsonArgs, label};

/// The files to write for a result.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ResultArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Print events as JSON lines during the run.
    ///
    /// Instead of the text, looptax prints one object per line: the plan, each epoch, verdicts, warnings, and at the
    /// end the result.
    #[arg(hide_short_help = true, long)]
    pub(crate) json_stream: bool,
    /// Write a page with tables and charts.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the record to FILE.
    ///
    /// An existing file is replaced. Default: a new folder in `$XDG_DATA_HOME/looptax/runs`; `show`, `diff` and
    /// `gate` find it there by the name of the run.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Further formats to write.
    #[command(flatten)]
    pub(crate) formats: FormatArgs,
    /// Which details of a result to print.
    #[command(flatten)]
    pub(crate) detail: DetailArgs,
    /// Label this run, as a name for `show` and `diff`.
    ///
    /// `diff before-kernel after-kernel` compares the newest runs with these two labels.
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub(crate) label: Option<String>,
    /// Leave this run out of the list of runs.
    #[arg(hide_short_help = true, long)]
    pub(crate) no_history: bool,
}

impl ResultArgs {
    /// Whether `--json` or `--json-stream` prints JSON instead of the text.
    pub(crate) fn is_json_printed(&self) -> bool {
        self.json_stream || self.json.is_printed()
    }
}

/// Which details of a result to print.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DetailArgs {
    /// Print everything that is known about each comparison.
    ///
    /// Without this option each kind of warning is printed once.
    #[arg(hide_short_help = true, long)]
    pub(crate) verbose: bool,
    /// Print what TCP costs at this rate of requests, such as 800/s.
    ///
    /// The output shows what share of one core TCP costs at that rate, and whether a move to the socket is worth the
    /// work.
    #[arg(long, value_name = "RATE", value_parser = at_rate)]
    pub(crate) at: Option<f64>,
}

impl DetailArgs {
    /// Returns the options of the report besides tables and verdicts; `record` is the name of the record.
    pub(crate) fn beside<'a>(&self, record: Option<&'a str>) -> Beside<'a> {
        Beside { record, at_per_s: self.at, is_verbose: self.verbose }
    }
}

/// Parses requests per second: `800/s`, `800`, `1.5k/s`.
pub(super) fn at_rate(typed: &str) -> Result<f64, String> {
    let rate = typed::rate(typed);
    rate.filter(|it| (0.001..=1e8).contains(it))
        .ok_or_else(|| "give requests per second, for example 800/s or 1.5k/s".to_owned())
}
