//! `diff`: two runs held against each other.

use looptax_model::analysis::diff;
use looptax_model::failure::Failure;
use looptax_report::terminal as report;

use crate::args::DiffArgs;
use crate::earlier_runs::record_of;
use crate::failure::Exit;
use crate::outputs::show;
use crate::terminal::Terminal;

/// Runs `diff`.
pub(crate) fn run(args: &DiffArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let (before, _) = record_of(&args.before)?.told(terminal);
    let (after, _) = record_of(&args.after)?.told(terminal);
    let diff = diff(&before, &after)?;
    show(&diff, &args.json, || report::diff(&diff, terminal.style()))?;
    Ok(Exit::Done)
}
