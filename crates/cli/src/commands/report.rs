//! `report`: records to one page that needs nothing outside itself.

use std::path::{Path, PathBuf};

use looptax_fleet::{contribution, contribution_line};
use looptax_model::failure::Failure;
use looptax_model::record::Record;
use looptax_store::{Existing, StoreError, save_text};

use crate::args::ReportArgs;
use crate::earlier_runs::{record_of, runs};
use crate::failure::Exit;
use crate::outputs::Outputs;
use crate::page::{Source, page};
use crate::terminal::{self, Terminal};

const HINT: &str = "records of `looptax compare` on one machine, as they were saved";

/// Runs `report`.
pub(crate) fn run(args: &ReportArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let (mut records, mut no_samples) = (Vec::new(), Vec::new());
    for word in &args.records {
        let mut judged = record_of(word)?;
        no_samples.push(judged.no_samples.take().map(|it| it.to_string()));
        records.push(judged.told(terminal));
    }
    let outputs = records.iter().fold(Outputs::default(), |outputs, (_, path)| outputs.reads(path));
    outputs.writes("--output", args.output.as_deref())?.writes("--publish", args.publish.as_deref())?;
    if let Some(path) = &args.publish {
        return publish(&records, path, terminal);
    }
    let sources: Vec<Source> = { records.iter().zip(no_samples) }
        .map(|((record, path), no_samples)| Source { record, path: Some(path), no_samples })
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
    save_text(&text, &path, existing).map_err(|error| {
        let is_there = matches!(error, StoreError::AlreadyExists { .. });
        let failure = Failure::from(error);
        if !is_there {
            return failure;
        }
        let shown = path.display();
        failure.with_hint(format!("-o FILE names another place, and -o {shown} writes over that one"))
    })?;
    terminal.words(&format!("report: {}\n", path.display()));
    Ok(Exit::Done)
}

/// Writes what the records give to a pool of results.
fn publish(records: &[(Record, PathBuf)], path: &Path, terminal: Terminal) -> Result<Exit, Failure> {
    let records: Vec<&Record> = records.iter().map(|(record, _)| record).collect();
    let (made, n_left_out) = contribution(&records).map_err(|error| Failure::usage(error.to_string(), HINT))?;
    let line = format!("{}\n", contribution_line(&made));
    if path == Path::new("-") {
        terminal::data(&line)?;
    } else {
        save_text(&line, path, Existing::Keep)?;
        terminal.words(&format!("published: {}, {} results\n", path.display(), made.results.len()));
    }
    if n_left_out > 0 {
        terminal.words(&format!("left out: {n_left_out} comparisons of scripts, programs or applications\n"));
    }
    Ok(Exit::Done)
}

/// The first record's name with another ending, in this folder; that of its run where it lies among the runs.
fn default_name(records: &[(Record, PathBuf)]) -> PathBuf {
    let name = records.first().and_then(|(record, path)| {
        let is_of_run = runs().is_some_and(|runs| runs.holds(path));
        let stem = path.file_stem()?.to_string_lossy();
        Some(if is_of_run { format!("looptax-{}", record.id) } else { stem.into_owned() })
    });
    PathBuf::from(format!("{}.html", name.as_deref().unwrap_or("looptax")))
}
