//! Options of a bare `looptax`.

use std::path::PathBuf;

use clap::Args;

use super::result::at_rate;
use super::{DetailArgs, JsonArgs, ResultArgs, TurnArgs, label};

/// Options of a bare `looptax`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BareArgs {
    /// Print what TCP costs at this rate of requests, such as 800/s.
    ///
    /// The output shows what share of one core TCP costs at that rate, and whether a move to the socket is worth the
    /// work. Default: the rates that looptax sees on this machine.
    #[arg(long, value_name = "RATE", value_parser = at_rate)]
    at: Option<f64>,
    #[command(flatten)]
    json: JsonArgs,
    /// Write a page with tables and charts.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Name this run for `show` and `diff`.
    #[arg(long, value_name = "NAME", value_parser = label)]
    label: Option<String>,
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    /// With --version: list the kernel features that looptax uses, and those missing here.
    #[arg(long)]
    verbose: bool,
}

impl BareArgs {
    /// Returns the options of the result, in the form that every measuring command uses.
    pub(crate) fn result(&self) -> ResultArgs {
        ResultArgs {
            json: self.json.clone(),
            html: self.html.clone(),
            label: self.label.clone(),
            detail: DetailArgs { at: self.at, verbose: self.verbose },
            ..ResultArgs::default()
        }
    }
}
