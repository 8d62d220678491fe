//! `reproduce`: repeats published comparisons, and prints the published figures next to the measured ones.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use looptax_bench::path::get_right;
use looptax_experiment::Observer;
use looptax_experiment::host;
use looptax_experiment::reproduction::{Amounts, Onlooker, Part, Runner, Surroundings, plan};
use looptax_host::output::Output;
use looptax_model::failure::Failure;
use looptax_model::record::{REPRODUCTION_SCHEMA_VERSION, Record, Reproduction};
use looptax_report as report;
use looptax_store::{Existing, save_text, save_value};

use crate::args::{ReproduceArgs, ReproduceName};
use crate::earlier_runs::{data_folder, remember};
use crate::failure::Exit;
use crate::outputs::Outputs;
use crate::signals::{set_at_end, stop_flag};
use crate::sys;
use crate::terminal::stage::Stage;
use crate::terminal::{self, Terminal, claim};

/// The name of the file with the result, in the folder of the records.
const RESULT: &str = "reproduce.json";

pub(crate) fn run(args: &ReproduceArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let parts = parts(&args.names);
    let amounts = amounts(args);
    let folder = folder(args);
    Outputs::default()
        .writes("--json", args.json.path())?
        .writes("--md", args.md.as_deref())?
        .writes("--html", args.html.as_deref())?;
    if args.dry_run {
        terminal::words_as_data(&plan(&parts, &amounts, &folder))?;
        return Ok(Exit::Done);
    }
    sys::require_measurable()?;
    make(&folder)?;
    terminal.words(&format!("{}\n", plan(&parts, &amounts, &folder)));
    if parts.iter().any(|part| part.needs_network()) {
        // Only a process with a single thread can get a user namespace. If looptax gets no user namespace, the arms
        // that need a user namespace report the reason.
        get_right().ok();
    }
    let around = surroundings(args, folder, terminal)?;
    let alone = claim(terminal, args.turn.wait, &around.stop);
    sys::raise_open_files();
    let mut reproduction = empty(args);
    reproduction.problems.extend(alone.problem());
    save(&reproduction, &around.folder)?;
    for part in parts {
        let done = part.run(&amounts, &mut Runner::new(&around, part));
        reproduction.parts.push(done);
        reproduction.interrupted = around.interrupted.load(Ordering::Relaxed);
        reproduction.finished_at = Some(jiff::Timestamp::now().to_string());
        // The result is saved after each part, so that a crash does not lose the finished parts.
        save(&reproduction, &around.folder)?;
        if reproduction.interrupted {
            break;
        }
    }
    show(args, &reproduction, &around.folder, terminal)?;
    Ok(exit(args, &reproduction))
}

fn save(reproduction: &Reproduction, folder: &Path) -> Result<(), Failure> {
    Ok(save_value(reproduction, &folder.join(RESULT))?)
}

fn amounts(args: &ReproduceArgs) -> Amounts {
    Amounts { is_quick: args.quick, scale: args.scale, epochs: args.epochs, slice_ms: args.slice_ms, users: args.users }
}

fn folder(args: &ReproduceArgs) -> PathBuf {
    let default = || {
        let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
        let name = format!("{now}-{}", std::process::id());
        match data_folder() {
            Some(data) => data.join("reproductions").join(name),
            None => PathBuf::from(format!("looptax-reproduction-{name}")),
        }
    };
    args.output.clone().unwrap_or_else(default)
}

/// Makes the folder and locks it. If two runs used the same folder, its records would come from both runs.
fn make(folder: &Path) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| {
        let why = match error.kind() {
            ErrorKind::AlreadyExists => "the folder already contains a result, or is a file".to_owned(),
            _ => error.to_string(),
        };
        Failure::usage(
            format!("cannot use the folder {}: {why}", folder.display()),
            "choose another folder with --output",
        )
    };
    let output = Output::find_or_make(&folder.join(RESULT)).map_err(cannot)?;
    let begun = output.begin(None).map_err(cannot)?;
    begun.finish(Existing::Keep).map_err(cannot)
}

fn surroundings(args: &ReproduceArgs, folder: PathBuf, terminal: Terminal) -> Result<Surroundings, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let stop = stop_flag()?;
    set_at_end(&interrupted)?;
    Ok(Surroundings {
        onlooker: Box::new(Watching { terminal, has_history: !args.no_history }),
        folder,
        stop,
        interrupted,
    })
}

struct Watching {
    terminal: Terminal,
    has_history: bool,
}

impl Onlooker for Watching {
    fn say(&self, words: &str) {
        self.terminal.words(words);
    }

    fn observer(&self) -> Box<dyn Observer> {
        Box::new(Stage::line(self.terminal))
    }

    fn remember(&self, record: &Record, path: &Path) {
        if self.has_history {
            remember(record, Some(path), self.terminal);
        }
    }
}

/// Returns the requested comparisons, each once, in the order in which they are measured.
fn parts(names: &[ReproduceName]) -> Vec<Part> {
    Part::all().filter(|it| names.iter().any(|name| name.0.is_none_or(|named| named == *it))).collect()
}

/// Returns a reproduction without any result.
fn empty(args: &ReproduceArgs) -> Reproduction {
    Reproduction {
        schema_version: REPRODUCTION_SCHEMA_VERSION,
        looptax_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: jiff::Timestamp::now().to_string(),
        finished_at: None,
        command: std::env::args().collect(),
        quick: args.quick,
        scale: args.scale,
        host: host(),
        parts: Vec::new(),
        problems: Vec::new(),
        interrupted: false,
    }
}

/// Prints the result in the requested form, and writes the other requested forms.
fn show(args: &ReproduceArgs, reproduction: &Reproduction, folder: &Path, terminal: Terminal) -> Result<(), Failure> {
    let is_stdout = |path: &Path| path.as_os_str() == "-";
    let mut has_printed = false;
    if let Some(path) = args.json.path() {
        if is_stdout(path) {
            terminal::json(reproduction)?;
            has_printed = true;
        } else {
            save_value(reproduction, path)?;
        }
    }
    if let Some(path) = &args.md {
        let text = report::reproduction_markdown(reproduction);
        if is_stdout(path) {
            terminal::data(&text)?;
            has_printed = true;
        } else {
            save_text(&text, path, Existing::Replace)?;
        }
    }
    if let Some(path) = &args.html {
        save_text(&report::html::reproduction_page(reproduction), path, Existing::Replace)?;
    }
    if !has_printed {
        let place = folder.join(RESULT);
        let place = place.display().to_string();
        let text = report::terminal::reproduction(reproduction, Some(&place), terminal.style());
        terminal::data(&text)?;
    }
    Ok(())
}

fn exit(args: &ReproduceArgs, reproduction: &Reproduction) -> Exit {
    let is_whole = reproduction.parts.iter().all(|part| part.missing.is_empty());
    if reproduction.interrupted {
        Exit::Interrupted
    } else if args.strict && !is_whole {
        Exit::Environment
    } else {
        Exit::Done
    }
}
