//! What becomes of a result, and what is said of it: for every command that measures.

use std::path::PathBuf;

use clap::Args;
use looptax_experiment::spec::typed;
use looptax_report::terminal::Beside;

use super::{FormatArgs, JsonArgs, label};

/// What becomes of a result.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ResultArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Print events as JSON lines during the run.
    ///
    /// Print what goes on as JSON instead of the text, one object a line: the plan, each epoch, verdicts, warnings; the
    /// last one is the result.
    #[arg(hide_short_help = true, long)]
    pub(crate) json_stream: bool,
    /// Write a page with tables and charts.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the record to FILE.
    ///
    /// Where the record goes; a file of that name is replaced. Default: a folder of its own in
    /// `$XDG_DATA_HOME/looptax/runs`, from where `show`, `diff` and `gate` take it by the name of the
    /// run.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What else to write.
    #[command(flatten)]
    pub(crate) formats: FormatArgs,
    /// What is said of the result.
    #[command(flatten)]
    pub(crate) detail: DetailArgs,
    /// Name this run for `show` and `diff`.
    ///
    /// Call this run so in `show` and `diff`; `diff before-kernel after-kernel` then takes the newest run of each
    /// name.
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub(crate) label: Option<String>,
    /// Leave this run out of the list of runs.
    #[arg(hide_short_help = true, long)]
    pub(crate) no_history: bool,
}

impl ResultArgs {
    /// Whether JSON of either form is printed in the text's place.
    pub(crate) fn is_json_printed(&self) -> bool {
        self.json_stream || self.json.is_printed()
    }
}

/// What is said of a result.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DetailArgs {
    /// Print everything that is known of each comparison.
    ///
    /// Say all that is known of each comparison; without it each kind of warning is said once.
    #[arg(hide_short_help = true, long)]
    pub(crate) verbose: bool,
    /// Print what TCP costs at this rate of requests, such as 800/s.
    ///
    /// Say what TCP comes to at this rate of requests, as in `--at 800/s`: its share of one core, and whether that
    /// is worth a change. A bare `looptax` takes the rates that it sees.
    #[arg(long, value_name = "RATE", value_parser = at_rate)]
    pub(crate) at: Option<f64>,
}

impl DetailArgs {
    /// What the report says beside tables and verdicts of a record with this name.
    pub(crate) fn beside<'a>(&self, record: Option<&'a str>) -> Beside<'a> {
        Beside { record, at_per_s: self.at, is_verbose: self.verbose }
    }
}

/// Requests per second: `800/s`, `800`, `1.5k/s`.
pub(super) fn at_rate(typed: &str) -> Result<f64, String> {
    let rate = typed::rate(typed);
    rate.filter(|it| (0.001..=1e8).contains(it)).ok_or_else(|| "requests per second, as in 800/s or 1.5k/s".to_owned())
}
