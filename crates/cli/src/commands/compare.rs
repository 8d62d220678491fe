//! `compare`: plan, targets one after the other, record, table.

use std::path::Path;
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
use looptax_report::terminal as report;
use looptax_store::Existing;

use crate::args::CompareArgs;
use crate::failure::Exit;
use crate::formats;
use crate::outputs::Outputs;
use crate::page::{Source, page};
use crate::record_place::RecordPlace;
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
        .writes("--json", args.json.path())?
        .writes("--html", args.html.as_deref())?;
    formats::announce(&args.formats, outputs)?;
    // Before there are threads, and before anybody is asked anything.
    let machine = Machine::make(settings);
    let parts = parts::planned(&asked, &machine)?;
    if args.dry_run {
        terminal::words_as_data(&parts.text())?;
        return Ok(Exit::Done);
    }
    sys::require_measurable()?;
    let is_open = needs_agreement(settings);
    // Nobody agrees to what is not shown.
    terminal.words_for(is_open, &format!("{}\n", parts.text()));
    if is_open && !terminal::agrees("Measure the running server as planned?") {
        return Err(Failure::usage(
            "a running server is measured only when the plan is agreed to",
            "--yes agrees; --dry-run shows the plan alone",
        ));
    }
    let stop = stop_flag()?;
    let alone = claim(terminal, args.turn.wait, &stop);
    sys::raise_open_files();
    let (mut writer, mut place) = RecordPlace::prepare(args, empty_record(settings), terminal)?;
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
    let saved = place.save(&mut writer);
    if !args.no_history {
        place.remember(&writer.record, terminal);
    }
    let shown = show(
        args,
        &writer,
        place.name(&writer.record).as_deref(),
        terminal,
    );
    let paged = write_page(args, &writer, place.path());
    // The first error is told; where there are several, one full disk is behind them all.
    measured.and(saved).and(shown).and(paged)?;
    writer.check_samples()?;
    Ok(if stop.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        Exit::for_record(&writer.record)
    })
}

/// Running servers are measured only after somebody agreed.
fn needs_agreement(settings: &Experiment) -> bool {
    let is_running = |it: &TargetSpec| matches!(it, TargetSpec::Running(_));
    !settings.is_agreed && settings.targets.iter().any(is_running)
}

/// Prints the result, and writes copies of it; one that cannot be written is an error after that.
fn show(
    args: &CompareArgs,
    writer: &RecordWriter,
    name: Option<&str>,
    terminal: Terminal,
) -> Result<(), Failure> {
    let copied = match args.json.path() {
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
        let table = report::compare(&writer.record, args.detail.beside(name), terminal.style());
        terminal::data(&table)?;
    }
    copied?;
    written.map(|_| ())
}

/// The page of `--html`; a run without anything measured has none.
pub(crate) fn write_page(
    args: &CompareArgs,
    writer: &RecordWriter,
    path: Option<&Path>,
) -> Result<(), Failure> {
    let Some(html) = args.html.as_ref().filter(|_| !writer.is_empty()) else {
        return Ok(());
    };
    let source = Source {
        record: &writer.record,
        path,
        no_samples: None,
    };
    // What could not be read stands on the page.
    let text = page(&[source], &mut Vec::new());
    looptax_store::save_text(&text, html, Existing::Replace)?;
    Ok(())
}
