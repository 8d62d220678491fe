//! `compare`: plan, targets one after the other, record, table.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use looptax_analysis::remedies;
use looptax_experiment::AskPassword;
use looptax_experiment::Experiment;
use looptax_experiment::Machine;
use looptax_experiment::RecordWriter;
use looptax_experiment::comparison::{empty_record, measure_all, parts};
use looptax_experiment::list_workloads;
use looptax_experiment::spec::target::TargetSpec;
use looptax_failure::Failure;
use looptax_record::{Record, Verdict};
use looptax_report::terminal as report;
use looptax_store::{Existing, Saver};

use crate::args::CompareArgs;
use crate::earlier_runs::remember;
use crate::failure::Exit;
use crate::formats;
use crate::outputs::Outputs;
use crate::page::{Source, page};
use crate::settings;
use crate::signals::stop_flag;
use crate::sys;
use crate::terminal::stage::Stage;
use crate::terminal::{self, Terminal, claim};

/// Runs `compare`.
pub(crate) fn run(args: &CompareArgs, terminal: Terminal) -> Result<Exit, Failure> {
    if args.list {
        terminal::data(&list_workloads())?;
        return Ok(Exit::Done);
    }
    let asked = settings::asked(args)?;
    let settings = &asked.all[0].1;
    if args.live && !terminal::can_be_drawn_on() {
        return Err(Failure::usage(
            "--live needs a terminal on stderr that can be drawn on",
            "without it, what is measured is said line by line",
        ));
    }
    let outputs = Outputs::default()
        .writes("--output", args.output.as_deref())?
        .writes("--json", args.json.as_deref())?
        .writes("--html", args.html.as_deref())?;
    formats::announce(&args.formats, outputs)?;
    // Before there are threads, and before anybody is asked anything.
    let machine = Machine::make(settings);
    let parts = parts::planned(&asked, &machine)?;
    if args.dry_run {
        terminal::data(&parts.text())?;
        return Ok(Exit::Done);
    }
    terminal.words(&format!("{}\n", parts.text()));
    agree(settings)?;
    let alone = claim(terminal);
    let stop = stop_flag()?;
    sys::raise_open_files();
    let mut writer = record_writer(args, settings)?;
    writer.record.problems.extend(alone.problem());
    writer.record.problems.extend(parts.not_measured());
    let mut stage = if args.live {
        let steps = parts.all.iter().flat_map(|part| part.plan.steps.clone());
        Stage::live(terminal, steps.collect(), &stop)?
    } else {
        Stage::line(terminal)
    };
    let ask = (machine, terminal::password as AskPassword);
    let measured = measure_all(&parts.all, ask, &mut writer, &mut stage, &stop);
    drop(stage);
    writer.record.interrupted |= stop.load(Ordering::Relaxed);
    if let Some(today) = &asked.today {
        writer.record.remedies = remedies::rank_remedies(&writer.record.comparisons, today);
    }
    // What was measured is shown even when it cannot be saved.
    let saved = writer.finish();
    let path = writer.path().filter(|_| saved.is_ok());
    if !args.no_history && !writer.is_empty() {
        remember(&writer.record, path.as_deref().map(Path::new), terminal);
    }
    let shown = show(args, &writer, path.as_deref(), terminal);
    let paged = write_page(args, &writer, path.as_deref());
    // The first error is told; where there are several, one full disk is behind them all.
    measured.and(saved).and(shown).and(paged)?;
    writer.check_samples()?;
    Ok(if stop.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else if has_invalid(&writer.record) {
        Exit::Invalid
    } else {
        Exit::Done
    })
}

/// Running servers are measured only after somebody agreed.
fn agree(settings: &Experiment) -> Result<(), Failure> {
    let has_running = settings
        .targets
        .iter()
        .any(|it| matches!(it, TargetSpec::Running(_)));
    if !has_running
        || settings.is_agreed
        || terminal::agrees("Measure the running server as planned?")
    {
        return Ok(());
    }
    Err(Failure::usage(
        "a running server is measured only when the plan is agreed to",
        "--yes agrees; --dry-run shows the plan alone",
    ))
}

fn record_writer(args: &CompareArgs, settings: &Experiment) -> Result<RecordWriter, Failure> {
    let now = jiff::Zoned::now();
    let is_stdout = args
        .json
        .as_deref()
        .is_some_and(|path| path.as_os_str() == "-");
    let path = match (&args.output, is_stdout) {
        (Some(path), _) => Some(path.clone()),
        (None, true) => None,
        (None, false) => Some(PathBuf::from(format!(
            "looptax-{}.json",
            now.strftime("%Y%m%d-%H%M%S")
        ))),
    };
    let existing = if args.output.is_some() {
        Existing::Replace
    } else {
        Existing::Keep
    };
    let saver = path.map(|path| Saver::new(&path, existing)).transpose()?;
    Ok(RecordWriter::new(empty_record(settings), saver))
}

/// Prints the result, and writes copies of it; one that cannot be written is an error after that.
fn show(
    args: &CompareArgs,
    writer: &RecordWriter,
    path: Option<&str>,
    terminal: Terminal,
) -> Result<(), Failure> {
    let copied = match &args.json {
        Some(json) if json.as_os_str() == "-" => {
            terminal::json(&writer.record)?;
            return Ok(());
        }
        Some(json) => looptax_store::save(&writer.record, json, Existing::Replace),
        None => Ok(()),
    };
    if writer.is_empty() {
        if writer.record.interrupted {
            terminal.words("interrupted before anything was measured: nothing is saved");
        }
        return Ok(copied?);
    }
    let written = formats::write(&args.formats, &writer.record);
    if !matches!(written, Ok(true)) {
        let table = report::compare(&writer.record, path, terminal.style());
        terminal::data(&table)?;
    }
    copied?;
    written.map(|_| ())
}

/// The page of `--html`; a run without anything measured has none.
fn write_page(
    args: &CompareArgs,
    writer: &RecordWriter,
    path: Option<&str>,
) -> Result<(), Failure> {
    let Some(html) = args.html.as_ref().filter(|_| !writer.is_empty()) else {
        return Ok(());
    };
    let source = Source {
        record: &writer.record,
        path: path.map(Path::new),
    };
    // What could not be read stands on the page.
    let text = page(&[source], &mut Vec::new());
    looptax_store::save_text(&text, html, Existing::Replace)?;
    Ok(())
}

fn has_invalid(record: &Record) -> bool {
    record
        .comparisons
        .iter()
        .flat_map(|it| &it.tax)
        .any(|tax| tax.verdict == Verdict::Invalid)
}
