//! `history`: what was measured on this machine.

use looptax_failure::Failure;
use looptax_report::terminal as report;

use crate::args::{HistoryArgs, HistoryCommand, ListArgs};
use crate::earlier_runs::{open_history, record_of};
use crate::failure::Exit;
use crate::terminal::{self, Terminal};

/// Runs `history`.
pub(crate) fn run(args: &HistoryArgs, terminal: Terminal) -> Result<Exit, Failure> {
    match &args.command {
        None => list(&args.list, terminal)?,
        Some(HistoryCommand::List(args)) => list(args, terminal)?,
        Some(HistoryCommand::Show { run }) => show(run, terminal)?,
        Some(HistoryCommand::Rm { runs }) => forget(runs, terminal)?,
    }
    Ok(Exit::Done)
}

fn list(args: &ListArgs, terminal: Terminal) -> Result<(), Failure> {
    let (runs, n_unread) = open_history()?.latest(args.most)?;
    if args.json {
        terminal::json(&runs)?;
    } else {
        terminal::data(&report::history(&runs, terminal.style()))?;
    }
    if n_unread > 0 {
        terminal.words(&format!(
            "{n_unread} entries cannot be read and are left out\n"
        ));
    }
    Ok(())
}

fn show(run: &str, terminal: Terminal) -> Result<(), Failure> {
    // By its name alone: `analyze` takes files.
    let run = open_history()?.find(run)?;
    let (record, path) = record_of(&run.id)?;
    terminal::data(&report::compare(&record, path.to_str(), terminal.style()))?;
    Ok(())
}

/// All of them, or none where one is not known.
fn forget(runs: &[String], terminal: Terminal) -> Result<(), Failure> {
    let history = open_history()?;
    let found: Result<Vec<_>, _> = runs.iter().map(|run| history.find(run)).collect();
    for run in found? {
        history.forget(&run.id)?;
        let place = run
            .path
            .map(|path| format!("; its record stays at {path}"))
            .unwrap_or_default();
        terminal.words(&format!("{} is forgotten{place}\n", run.id));
    }
    Ok(())
}
