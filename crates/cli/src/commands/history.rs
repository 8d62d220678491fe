//! `history`: what was measured on this machine.

use std::path::Path;

use looptax_model::failure::Failure;
use looptax_report::terminal as report;

use crate::args::{HistoryArgs, HistoryCommand, ListArgs};
use crate::earlier_runs::{open_history, record_of, runs};
use crate::failure::Exit;
use crate::outputs::show as show_result;
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
    show_result(&runs, &args.json, || report::history(&runs, terminal.style()))?;
    if n_unread > 0 {
        terminal.words(&format!("{n_unread} entries cannot be read and are left out\n"));
    }
    Ok(())
}

fn show(run: &str, terminal: Terminal) -> Result<(), Failure> {
    // By its name alone: `analyze` takes files.
    let run = open_history()?.find(run)?;
    let (record, path) = record_of(&run.id)?.told(terminal);
    let beside = report::Beside { record: path.to_str(), is_verbose: true, at_per_s: None };
    terminal::data(&report::compare(&record, beside, terminal.style()))?;
    Ok(())
}

/// All of them, or none where one is not known.
fn forget(names: &[String], terminal: Terminal) -> Result<(), Failure> {
    let (history, runs) = (open_history()?, runs());
    let found: Result<Vec<_>, _> = names.iter().map(|name| history.find(name)).collect();
    for run in found? {
        let path = run.path.as_deref().map(Path::new);
        let ours = path.zip(runs.as_ref()).filter(|(path, runs)| runs.holds(path));
        let place = match (ours, path) {
            (Some((path, runs)), _) => {
                runs.remove(path)?;
                " and its record removed".to_owned()
            }
            (None, Some(path)) => format!("; its record stays at {}", path.display()),
            (None, None) => String::new(),
        };
        history.forget(&run.id)?;
        terminal.words(&format!("{} is forgotten{place}\n", run.id));
    }
    Ok(())
}
