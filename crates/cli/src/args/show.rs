//! Options of `show`, `diff` and `gate`.

use std::path::PathBuf;

use clap::Args;
use looptax_experiment::spec::typed;

use super::{DetailArgs, FormatArgs, JsonArgs};

/// Options of `show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// Runs by name, label, `last` or record file; default: list all runs.
    ///
    /// The beginning of a name is enough. Several runs are shown one after the other, or on one page with --html.
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// List at most N runs, the newest first.
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) most: u32,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Write a page with tables and charts; `-` prints it.
    ///
    /// The page has all the runs that you pass, and loads nothing from outside.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Which details of a run to print.
    #[command(flatten)]
    pub(crate) detail: DetailArgs,
    /// Further formats to write.
    #[command(flatten)]
    pub(crate) formats: FormatArgs,
    /// Write the figures as a line of JSON for a shared pool of results; `-` prints it.
    ///
    /// The line has the kernel, the CPU and the versions of servers, but no host, path, label, user or script. An
    /// existing file is not replaced.
    #[arg(long, value_name = "FILE", help_heading = "Formats")]
    pub(crate) publish: Option<PathBuf>,
    /// Remove the runs from the list, and delete their records.
    ///
    /// A record that -o saved elsewhere is kept.
    #[arg(long, conflicts_with_all = ["json", "html", "publish"])]
    pub(crate) forget: bool,
}

/// Options of `diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffArgs {
    /// The earlier run: its record, name or label, or a name of `watch --save`.
    #[arg(value_name = "A")]
    pub(crate) before: String,
    /// The later run, in the same form.
    #[arg(value_name = "B")]
    pub(crate) after: String,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Exit codes of `gate`, for the end of its help.
pub(crate) const GATE_CODES: &str = "Exit codes: 0 no arm loses more than the limit; 1 an arm loses more; 2 wrong usage \
    or environment; 3 the measurement does not decide, or the record was changed.";

/// Options of `gate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GateArgs {
    /// A run: its name, its label, `last` or a record file.
    #[arg(value_name = "RECORD")]
    pub(crate) record: String,
    /// Largest loss of throughput that is allowed, such as 20%.
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true, required_unless_present = "max_page_time")]
    pub(crate) max_tax: Option<f64>,
    /// For a trial: how much longer a page may take, such as +2%.
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true, conflicts_with = "max_tax")]
    pub(crate) max_page_time: Option<f64>,
    /// Judge only this transport (default: all but the baseline).
    #[arg(long, value_name = "ARM")]
    pub(crate) arm: Option<String>,
}

/// Parses `20%` or `20`. A value below 1 without a percent sign is refused, because it may be meant as a share.
fn percent(typed: &str) -> Result<f64, String> {
    let value = typed::percent(typed)
        .filter(|it| (-100.0..=100.0).contains(it))
        .ok_or_else(|| "give a percentage of throughput, for example 20%".to_owned())?;
    if !typed.ends_with('%') && value != 0.0 && value.abs() < 1.0 {
        return Err(format!("this may mean {value} % or {share} %: write {value}% or {share}%", share = value * 100.0));
    }
    Ok(value)
}
