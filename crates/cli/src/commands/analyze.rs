//! `analyze`: a saved record judged again, from its raw counts and samples.

use std::path::Path;

use looptax_model::failure::Failure;
use looptax_model::record::Record;
use looptax_report::terminal as report;
use looptax_store::{Existing, save};

use crate::args::AnalyzeArgs;
use crate::earlier_runs::record_of;
use crate::failure::Exit;
use crate::formats;
use crate::outputs::Outputs;
use crate::terminal::{self, Terminal};

/// Runs `analyze`.
pub(crate) fn run(args: &AnalyzeArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let mut judged = record_of(&args.record)?;
    let outputs = Outputs::default().reads(&judged.path).writes("--json", args.json.path())?;
    formats::announce(&args.formats, outputs)?;
    if let Some(error) = judged.no_samples.take() {
        return Err(error.into());
    }
    let (record, path) = judged.told(terminal);
    show(args, &record, &path, terminal)?;
    Ok(Exit::for_record(&record))
}

fn show(args: &AnalyzeArgs, record: &Record, place: &Path, terminal: Terminal) -> Result<(), Failure> {
    match args.json.path() {
        Some(path) if path.as_os_str() == "-" => {
            terminal::json(record)?;
            return Ok(());
        }
        Some(path) => save(record, path, Existing::Replace)?,
        None => {}
    }
    if formats::write(&args.formats, record)? {
        return Ok(());
    }
    let beside = args.detail.beside(place.to_str());
    terminal::data(&report::compare(record, beside, terminal.style()))?;
    Ok(())
}
