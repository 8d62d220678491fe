//! `report`: records to one page that needs nothing outside itself.

use std::path::{Path, PathBuf};

use looptax_failure::Failure;
use looptax_record::Record;
use looptax_store::{Existing, save_text};

use crate::args::ReportArgs;
use crate::earlier_runs::record_of;
use crate::failure::Exit;
use crate::outputs::Outputs;
use crate::page::{Source, page};
use crate::terminal::{self, Terminal};

/// Runs `report`.
pub(crate) fn run(args: &ReportArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let mut records: Vec<(Record, PathBuf)> = Vec::new();
    for word in &args.records {
        records.push(record_of(word)?);
    }
    let outputs = records
        .iter()
        .fold(Outputs::default(), |outputs, (_, path)| outputs.reads(path));
    outputs.writes("--output", args.output.as_deref())?;
    let sources: Vec<Source> = records
        .iter()
        .map(|(record, path)| Source {
            record,
            path: Some(path),
        })
        .collect();
    let mut notes = Vec::new();
    let text = page(&sources, &mut notes);
    for note in notes {
        terminal.words(&format!("{note}\n"));
    }
    if args.output.as_deref() == Some(Path::new("-")) {
        terminal::data(&text)?;
        return Ok(Exit::Done);
    }
    let (path, existing) = match &args.output {
        Some(path) => (path.clone(), Existing::Replace),
        None => (default_name(&records), Existing::Keep),
    };
    save_text(&text, &path, existing)?;
    terminal.words(&format!("report: {}\n", path.display()));
    Ok(Exit::Done)
}

/// The first record's name with another ending, in this folder.
fn default_name(records: &[(Record, PathBuf)]) -> PathBuf {
    let stem = records.first().and_then(|(_, path)| path.file_stem());
    let stem = stem.map_or_else(|| "looptax".into(), |stem| stem.to_string_lossy());
    PathBuf::from(format!("{stem}.html"))
}
