//! `compare`: plan, targets one after the other, record, table.

mod parts;
mod step;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use looptax_path::Arm;
use looptax_record::{Hex64, METHOD_VERSION, Record, SCHEMA_VERSION, Verdict};
use looptax_report::terminal as report;
use looptax_store::{Existing, Saver};

use crate::alone::Claim;
use crate::args::{Cli, CompareArgs};
use crate::arms::Machine;
use crate::convert::remedies;
use crate::exec;
use crate::failure::{Exit, Failure};
use crate::formats;
use crate::host;
use crate::measure::plan::{Case, TargetPlan};
use crate::measure::{self, Sink};
use crate::outputs::Outputs;
use crate::page::{Source, page};
use crate::past::remember;
use crate::settings::Compare;
use crate::settings::target::TargetSpec;
use crate::signals::stop_flag;
use crate::sys;
use crate::target::workloads::list;
use crate::target::{Host, Target};
use crate::terminal::stage::Stage;
use crate::terminal::{self, Terminal};
use parts::Part;
pub(crate) use step::{Measured, Named, measured};

/// Runs `compare`.
pub(crate) fn run(args: &CompareArgs, terminal: Terminal) -> Result<Exit, Failure> {
    if args.list {
        terminal::data(&list())?;
        return Ok(Exit::Done);
    }
    let asked = parts::asked(args)?;
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
    let alone = Claim::take(terminal);
    let stop = stop_flag()?;
    sys::raise_open_files();
    let mut sink = sink(args, settings)?;
    sink.record.problems.extend(alone.problem());
    sink.record.problems.extend(parts.not_measured());
    let stage = if args.live {
        let steps = parts.all.iter().flat_map(|part| part.plan.steps.clone());
        Stage::live(terminal, steps.collect(), &stop)?
    } else {
        Stage::line(terminal)
    };
    let measured = measure_all(&parts.all, machine, &mut sink, stage, &stop);
    sink.record.interrupted |= stop.load(Ordering::Relaxed);
    if let Some(today) = &asked.today {
        sink.record.remedies = remedies::of(&sink.record.comparisons, today);
    }
    // What was measured is shown even when it cannot be saved.
    let saved = sink.finish();
    let path = sink.path().filter(|_| saved.is_ok());
    if !args.no_history && !sink.is_empty() {
        remember(&sink.record, path.as_deref().map(Path::new), terminal);
    }
    let shown = show(args, &sink, path.as_deref(), terminal);
    let paged = write_page(args, &sink, path.as_deref());
    // The first error is told; where there are several, one full disk is behind them all.
    measured.and(saved).and(shown).and(paged)?;
    sink.check_samples()?;
    Ok(if stop.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else if has_invalid(&sink.record) {
        Exit::Invalid
    } else {
        Exit::Done
    })
}

/// What the built-in echo server shows in ten seconds: one connection, both ends on one core. Nothing
/// is shown or saved.
pub(crate) fn echo_in_ten_seconds(terminal: Terminal) -> Result<Record, Failure> {
    const LINE: [&str; 8] = [
        "looptax",
        "echo",
        "-c",
        "1",
        "--placement",
        "same",
        "--fixed",
        "10s",
    ];
    let args = Cli::try_parse_from(LINE)?.compare;
    let _alone = Claim::take(terminal);
    let stop = stop_flag()?;
    let named = Named {
        suffix: "",
        command: LINE.map(str::to_owned).to_vec(),
        path: None,
    };
    let Measured { record, failure } = measured(&args, named, terminal, &stop)?;
    failure.map_or(Ok(record), Err)
}

/// Running servers are measured only after somebody agreed.
fn agree(settings: &Compare) -> Result<(), Failure> {
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

fn measure_all(
    parts: &[Part<'_>],
    machine: Machine,
    sink: &mut Sink,
    mut stage: Stage,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let settings = parts[0].settings;
    if let (Some(exec), []) = (&settings.exec, settings.targets.as_slice()) {
        return exec::measure(None, settings, exec, sink, &mut stage, stop);
    }
    let host = Host::new(machine)?;
    for part in parts {
        measure_part(part, &host, sink, &mut stage, stop)?;
    }
    Ok(())
}

fn measure_part(
    Part { settings, plan, .. }: &Part<'_>,
    host: &Host,
    sink: &mut Sink,
    stage: &mut Stage,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    for (target_idx, spec) in settings.targets.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        stage.say(&spec.before_measuring());
        let planned = plan.targets.get(target_idx);
        let arms = planned.map_or(&settings.arms, |it| &it.arms);
        let mut target = Target::open(spec, arms, settings, host)?;
        let measured = match (&settings.exec, planned) {
            (Some(exec), _) => {
                exec::measure(Some(&mut target), settings, exec, sink, stage, stop)
            }
            (None, Some(planned)) => offered(planned, &target, sink).and_then(|cases| {
                measure::target(&mut target, settings, &cases, sink, stage, stop)
            }),
            (None, None) => Ok(()),
        };
        // What we wrote is dropped and what we started is stopped, whatever happened.
        let closed = target.close();
        // What fails after Ctrl-C was broken off in the middle of something: that is no error.
        if !stop.load(Ordering::Relaxed) {
            measured?;
        }
        closed?;
    }
    Ok(())
}

/// The comparisons of a target, now that it can be asked what it offers.
///
/// # Errors
/// What keeps TLS from being measured, where nothing else would be left.
fn offered(planned: &TargetPlan, target: &Target, sink: &mut Sink) -> Result<Vec<Case>, Failure> {
    let mut arms = planned.arms.clone();
    for arm in [Arm::Tls, Arm::TlsUnix] {
        let is_unsure = planned.unsure == Some(arm);
        if !arms.contains(&arm) || target.is_private() && !is_unsure {
            continue;
        }
        let is_offered = target.offers_tls == Some(true);
        let Err(error) = target.converse(arm) else {
            continue;
        };
        if arms.len() <= 2 || arms[0] == arm {
            return Err(error.into());
        }
        arms.retain(|it| *it != arm);
        if is_offered || !is_unsure {
            let name = &target.name;
            let why = format!("{name}: {arm} is not measured: {error}");
            sink.record.problems.push(why);
        }
    }
    Ok(planned.only(&arms))
}

fn sink(args: &CompareArgs, settings: &Compare) -> Result<Sink, Failure> {
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
    Ok(Sink::new(empty_record(settings), saver))
}

/// A record of a run that begins now.
fn empty_record(settings: &Compare) -> Record {
    let now = jiff::Zoned::now();
    Record {
        schema_version: SCHEMA_VERSION,
        method_version: METHOD_VERSION,
        looptax_version: env!("CARGO_PKG_VERSION").to_owned(),
        id: format!("{}-{}", now.strftime("%Y%m%d-%H%M%S"), std::process::id()),
        started_at: now.timestamp().to_string(),
        finished_at: None,
        command: command_line(settings),
        seed: Hex64(settings.seed),
        host: host::host(),
        comparisons: Vec::new(),
        looks: Vec::new(),
        samples: None,
        remedies: Vec::new(),
        problems: Vec::new(),
        interrupted: false,
    }
}

/// What was typed, with the URLs' passwords taken out.
fn command_line(settings: &Compare) -> Vec<String> {
    let shown: Vec<&str> = settings
        .targets
        .iter()
        .filter_map(|spec| match spec {
            TargetSpec::Running(running) => Some(running.shown.as_str()),
            TargetSpec::Private(_) => None,
        })
        .collect();
    let mut shown = shown.into_iter();
    let lines = settings.exec.iter().flat_map(|exec| &exec.typed);
    let line_of = |word: &str| {
        let mut lines = lines.clone();
        lines.find_map(|(typed, shown)| Some(word.strip_suffix(typed.as_str())?.to_owned() + shown))
    };
    std::env::args()
        .map(|word| {
            if let Some(line) = line_of(&word) {
                line
            } else if word.contains("://") {
                shown.next().unwrap_or("****").to_owned()
            } else {
                word
            }
        })
        .collect()
}

/// Prints the result, and writes copies of it; one that cannot be written is an error after that.
fn show(
    args: &CompareArgs,
    sink: &Sink,
    path: Option<&str>,
    terminal: Terminal,
) -> Result<(), Failure> {
    let copied = match &args.json {
        Some(json) if json.as_os_str() == "-" => {
            let text = serde_json::to_string_pretty(&sink.record)?;
            terminal::data(&format!("{text}\n"))?;
            return Ok(());
        }
        Some(json) => looptax_store::save(&sink.record, json, Existing::Replace),
        None => Ok(()),
    };
    if sink.is_empty() {
        if sink.record.interrupted {
            terminal.words("interrupted before anything was measured: nothing is saved");
        }
        return Ok(copied?);
    }
    let written = formats::write(&args.formats, &sink.record);
    if !matches!(written, Ok(true)) {
        let table = report::compare(&sink.record, path, terminal.style());
        terminal::data(&table)?;
    }
    copied?;
    written.map(|_| ())
}

/// The page of `--html`; a run without anything measured has none.
fn write_page(args: &CompareArgs, sink: &Sink, path: Option<&str>) -> Result<(), Failure> {
    let Some(html) = args.html.as_ref().filter(|_| !sink.is_empty()) else {
        return Ok(());
    };
    let source = Source {
        record: &sink.record,
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
