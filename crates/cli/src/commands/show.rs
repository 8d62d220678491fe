//! `show`: prints the list of runs, or shows runs from their records as text, page or data.

mod page;

use std::path::Path;

use looptax_model::failure::Failure;
use looptax_model::record::Record;
use looptax_report::terminal as report;
use looptax_store::{Existing, save};

use crate::args::ShowArgs;
use crate::earlier_runs::{open_history, record_of, runs};
use crate::failure::Exit;
use crate::formats;
use crate::outputs::{Outputs, show as show_result};
use crate::page::Source;
use crate::terminal::{self, Terminal};

pub(crate) fn run(args: &ShowArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let is_about_a_run = args.forget || args.html.is_some() || args.publish.is_some() || args.formats.is_any();
    match &*args.runs {
        [] if is_about_a_run => {
            Err(Failure::usage("no run was given", "pass `last`, or a run that `looptax show` lists"))
        }
        [] => list(args, terminal),
        names if args.forget => forget(names, terminal),
        names => view(names, args, terminal),
    }
}

fn list(args: &ShowArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let (runs, n_unread) = open_history()?.latest(args.most)?;
    show_result(&runs, &args.json, || report::history(&runs, terminal.style()))?;
    if n_unread > 0 {
        terminal.words(&format!("{n_unread} runs are left out, because looptax cannot read their entries\n"));
    }
    Ok(Exit::Done)
}

/// Removes all named runs from the history. If one of them is not known, removes none.
fn forget(names: &[String], terminal: Terminal) -> Result<Exit, Failure> {
    let (history, runs) = (open_history()?, runs());
    let found: Result<Vec<_>, _> = names.iter().map(|name| history.find(name)).collect();
    for run in found? {
        let path = run.path.as_deref().map(Path::new);
        let ours = path.zip(runs.as_ref()).filter(|(path, runs)| runs.holds(path));
        let place = match (ours, path) {
            (Some((path, runs)), _) => {
                runs.remove(path)?;
                ", and the record is deleted".to_owned()
            }
            (None, Some(path)) => format!("; the record stays at {}", path.display()),
            (None, None) => String::new(),
        };
        history.forget(&run.id)?;
        terminal.words(&format!("{} is removed from the history{place}\n", run.id));
    }
    Ok(Exit::Done)
}

/// Shows records in the requested forms, by default as text. The verdicts are computed again from the raw counts and
/// samples.
fn view(names: &[String], args: &ShowArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let (mut records, mut no_samples) = (Vec::new(), Vec::new());
    for name in names {
        let mut judged = record_of(name)?;
        no_samples.push(judged.no_samples.take());
        records.push(judged.told(terminal));
    }
    let outputs = records.iter().fold(Outputs::default(), |outputs, (_, path)| outputs.reads(path));
    let outputs = outputs
        .writes("--json", args.json.path())?
        .writes("--html", args.html.as_deref())?
        .writes("--publish", args.publish.as_deref())?;
    formats::announce(&args.formats, outputs)?;
    let is_data = args.json.path().is_some() || args.formats.is_any();
    if is_data && records.len() > 1 {
        return Err(Failure::usage(
            "--json and the options for other formats accept only one run",
            "--html shows several runs on one page",
        ));
    }
    if let Some(path) = &args.publish {
        page::publish(&records, path, terminal)?;
    }
    if let Some(path) = &args.html {
        let why = no_samples.iter().map(|it| it.as_ref().map(ToString::to_string));
        let sources = { records.iter().zip(why) }
            .map(|((record, path), no_samples)| Source { record, path: Some(path), no_samples })
            .collect::<Vec<_>>();
        page::write(&sources, path, terminal)?;
    }
    if (args.html.is_some() || args.publish.is_some()) && !is_data {
        return Ok(Exit::Done);
    }
    if let Some(error) = no_samples.into_iter().flatten().next() {
        return Err(error.into());
    }
    let mut text = Vec::new();
    for (record, path) in &records {
        text.extend(of_record(args, record, path, terminal)?);
    }
    terminal::data(&text.join("\n"))?;
    let is_invalid = |(record, _): &(Record, _)| Exit::for_record(record) == Exit::Invalid;
    Ok(if records.iter().any(is_invalid) { Exit::Invalid } else { Exit::Done })
}

/// Writes the other forms of a record. Returns the text of the record, unless one of the other forms is printed
/// instead.
fn of_record(args: &ShowArgs, record: &Record, place: &Path, terminal: Terminal) -> Result<Option<String>, Failure> {
    if args.json.is_printed() {
        terminal::json(record)?;
        return Ok(None);
    }
    if let Some(path) = args.json.path() {
        save(record, path, Existing::Replace)?;
    }
    if formats::write(&args.formats, record)? {
        return Ok(None);
    }
    let beside = args.detail.beside(place.to_str());
    Ok(Some(report::compare(record, beside, terminal.style())))
}
