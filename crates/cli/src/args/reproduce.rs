//! Options of `reproduce`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use looptax_experiment::reproduction::Part;
use looptax_experiment::spec::typed;

use super::JsonArgs;

/// Exit codes of `reproduce`, for the end of its help.
pub(crate) const CODES: &str = "Exit codes: 0 done, even if a measurement is invalid or missing; 2 wrong usage or \
    environment, or with --strict a part was not measured completely; 130 interrupted.";

/// Options of `reproduce`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each of these fields is an option of the command line")]
pub(crate) struct ReproduceArgs {
    /// Name of a published comparison, or all.
    #[arg(value_name = "NAME", required = true, value_parser = names())]
    pub(crate) names: Vec<ReproduceName>,
    /// Measure fewer epochs and points.
    ///
    /// dimitri then stops at 256 connections.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Share of the published amounts of data: 0.05, or 1 for all.
    ///
    /// The share applies to percona's dump and to moonen's stream and messages. Default: an amount that takes minutes;
    /// the result shows how much smaller this amount is than the published amount.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) scale: Option<f64>,
    /// Exit with 2 if a part could not be measured completely.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print the plan and exit.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Folder for the records and the result.
    ///
    /// The result is the file `reproduce.json` in this folder. looptax refuses a folder that already has a result.
    /// Default: a new folder in `$XDG_DATA_HOME/looptax/reproductions`.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Write Markdown; `-` prints it.
    #[arg(long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
    /// Write a page with all comparisons.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Leave these runs out of the list of runs.
    #[arg(long)]
    pub(crate) no_history: bool,
    #[command(flatten)]
    pub(crate) turn: super::TurnArgs,
    /// Epochs of every comparison: for tests.
    #[arg(long, hide = true, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=1_000))]
    pub(crate) epochs: Option<u32>,
    /// Length of every slice: for tests.
    #[arg(long, hide = true, value_name = "MS", value_parser = clap::value_parser!(u32).range(10..=60_000))]
    pub(crate) slice_ms: Option<u32>,
    /// Most connections of a sweep: for tests.
    #[arg(long, hide = true, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_024))]
    pub(crate) users: Option<u32>,
}

/// A published comparison; `None` means all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReproduceName(pub(crate) Option<Part>);

const ALL: &str = "all";

fn names() -> impl TypedValueParser<Value = ReproduceName> {
    let each = Part::all().map(|it| PossibleValue::new(it.name()).help(it.about()));
    let all = PossibleValue::new(ALL).help("All of them");
    PossibleValuesParser::new(each.chain([all])).map(|word| ReproduceName(Part::named(&word)))
}

/// Largest share of the published amount that is accepted; a larger number is probably a typing error.
const MOST_SHARE: f64 = 4.0;

/// Parses `0.05` or `1`.
fn share(typed: &str) -> Result<f64, String> {
    typed::share(typed).filter(|it| *it > 0.0 && *it <= MOST_SHARE).ok_or_else(|| {
        format!("give a share of the published amounts, for example 0.05 or 5%, or 1 for all; at most {MOST_SHARE}")
    })
}
