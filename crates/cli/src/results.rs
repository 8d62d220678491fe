//! The steps around a measurement. Before the measurement, its files are checked. After the measurement, the result is
//! saved, added to the history, and shown.
//!
//! These steps are the same for every command that measures; each command itself decides what to measure.

use std::path::Path;

use looptax_experiment::RecordWriter;
use looptax_model::failure::Failure;
use looptax_model::record::{StreamEvent, StreamLine};
use looptax_report::terminal as report;
use looptax_store::Existing;

use crate::args::ResultArgs;
use crate::formats;
use crate::outputs::Outputs;
use crate::page::{Source, page};
use crate::record_place::RecordPlace;
use crate::terminal::{self, Terminal};

/// Fails, before the measurement, if a file cannot be written or two results would be written to the same place.
pub(crate) fn announce(args: &ResultArgs) -> Result<Outputs, Failure> {
    let outputs = Outputs::default()
        .writes("--output", args.output.as_deref())?
        .writes("--json", args.json.path())?
        .writes("--json-stream", args.json_stream.then_some(Path::new("-")))?
        .writes("--html", args.html.as_deref())?;
    formats::announce(&args.formats, outputs)
}

/// Saves a record, adds it to the history and shows it. A record that cannot be saved is still shown.
pub(crate) fn keep(
    args: &ResultArgs,
    writer: &mut RecordWriter,
    place: &mut RecordPlace,
    terminal: Terminal,
) -> Result<(), Failure> {
    let saved = place.save(writer);
    if !args.no_history {
        place.remember(&writer.record, terminal);
    }
    let name = place.name(&writer.record);
    let shown = show(args, writer, name.as_deref(), terminal);
    let shown = shown.map_err(|failure| match (failure.hint(), place.path()) {
        (None, Some(path)) => {
            failure.with_hint(format!("the result is in {0}: `looptax show {0}` prints it", path.display()))
        }
        _ => failure,
    });
    let paged = write_page(args, writer, place.path());
    saved.and(shown).and(paged)
}

/// Prints the result, and writes copies of it. A copy that cannot be written is an error, which is returned after the
/// result has been printed.
fn show(args: &ResultArgs, writer: &RecordWriter, name: Option<&str>, terminal: Terminal) -> Result<(), Failure> {
    let is_json_printed = args.is_json_printed();
    if args.json_stream {
        terminal::json_line(&StreamLine::from(StreamEvent::Result(Box::new(writer.record.clone()))))?;
    } else if is_json_printed {
        terminal::json(&writer.record)?;
    }
    let file = args.json.path().filter(|_| !args.json.is_printed());
    let copied = file.map_or(Ok(()), |json| looptax_store::save(&writer.record, json, Existing::Replace));
    if writer.is_empty() {
        if writer.record.interrupted && !is_json_printed {
            terminal.words("interrupted before anything was measured: looptax saved nothing");
        }
        return Ok(copied?);
    }
    let written = formats::write(&args.formats, &writer.record);
    if !is_json_printed && !matches!(written, Ok(true)) {
        let table = report::compare(&writer.record, args.detail.beside(name), terminal.style());
        terminal::data(&table)?;
    }
    copied?;
    written.map(|_| ())
}

/// Writes the page of `--html`. A run in which nothing was measured has no page.
pub(crate) fn write_page(args: &ResultArgs, writer: &RecordWriter, path: Option<&Path>) -> Result<(), Failure> {
    let Some(html) = args.html.as_ref().filter(|_| !writer.is_empty()) else {
        return Ok(());
    };
    let source = Source { record: &writer.record, path, no_samples: None };
    // The page itself names the samples that could not be read.
    let text = page(&[source], &mut Vec::new());
    looptax_store::save_text(&text, html, Existing::Replace)?;
    Ok(())
}
