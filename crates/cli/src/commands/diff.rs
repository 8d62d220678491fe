//! `diff`: two runs held against each other.

use looptax_report::terminal as report;

use crate::args::DiffArgs;
use crate::diff::diff;
use crate::failure::{Exit, Failure};
use crate::past::record_of;
use crate::terminal::{self, Terminal};

/// Runs `diff`.
pub(crate) fn run(args: &DiffArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let (before, _) = record_of(&args.before)?;
    let (after, _) = record_of(&args.after)?;
    let diff = diff(&before, &after)?;
    let text = if args.json {
        format!("{}\n", serde_json::to_string_pretty(&diff)?)
    } else {
        report::diff(&diff, terminal.style())
    };
    terminal::data(&text)?;
    Ok(Exit::Done)
}
