//! `run`: starts an unmodified program, and moves its connections to local databases to their sockets.

use std::collections::BTreeSet;
use std::io;

use looptax_model::failure::Failure;
use looptax_redirect::{
    Config, Ended, Event, Exit as ProgramExit, Obstacle, Program, RedirectError, Surroundings, Switches,
};
use looptax_switch::diagnose::moving::{self, Candidate, words};

use super::program::check_name;
use crate::args::RunArgs;
use crate::failure::Exit;
use crate::sys;
use crate::terminal::{self, Terminal};

/// A hint after a failure of `--strict`.
const AS_IT_IS: &str = "leave --strict out: the command then runs unchanged, over TCP";

/// Runs the program. A failure that keeps the program from running has its own exit code (125 to 127).
pub(crate) fn run(args: &RunArgs, terminal: Terminal) -> Exit {
    started(args, terminal).unwrap_or_else(|NotRun { failure, exit }| {
        terminal::failure(&failure);
        exit
    })
}

/// The reason why the program does not run under looptax, with the exit code.
struct NotRun {
    failure: Failure,
    exit: Exit,
}

impl<E: Into<Failure>> From<E> for NotRun {
    fn from(error: E) -> Self {
        Self { failure: error.into(), exit: Exit::NotRun }
    }
}

fn started(args: &RunArgs, terminal: Terminal) -> Result<Exit, NotRun> {
    check_name("run", &args.command)?;
    sys::hide_last_arguments(args.command.len().saturating_sub(1));
    let switches = switches(args)?;
    if let Err(failure) = sys::require_proc(sys::FOUND) {
        let program = Program { args: args.command.clone() };
        if args.dry_run {
            return Err(failure.into());
        }
        return unmoved(&program, args, &failure.to_string(), terminal);
    }
    let wanted = args.moving.wanted(&args.command);
    let candidates = moving::candidates(&wanted)?;
    let unfitting = moving::unfitting(&wanted, &candidates)?;
    let unfitting = unfitting.iter().map(|it| words::warning(it));
    let unfitting: String = unfitting.collect();
    // looptax needed the variable only for the login that it tried; the program does not need it.
    sys::forget_variable("LOOPTAX_PASSWORD");
    let mapping = moving::mapping(&candidates);
    let is_whole = args.dry_run || args.verbose || args.stats;
    let plan = words::plan(&candidates, is_whole);
    let is_idle = !candidates.iter().any(Candidate::is_moved_now);
    if args.dry_run {
        let nothing = words::line(&words::nothing(&candidates, &args.moving.port, true));
        let nothing = if candidates.is_empty() { &nothing } else { "" };
        let warnings = words::warnings(&candidates);
        terminal::words_as_data(&(plan + &warnings + &unfitting + nothing))?;
        return Ok(if is_idle { Exit::No } else { Exit::Done });
    }
    // Without `--verbose` or `--stats` the servers are not listed, because the command may never use them.
    if is_whole {
        terminal.words_for(true, &plan);
        terminal.words_for(true, &words::warnings(&candidates));
    }
    terminal.words_for(true, &unfitting);
    let program = Program { args: args.command.clone() };
    if mapping.routes.is_empty() {
        let why = words::nothing(&candidates, &args.moving.port, is_whole);
        return unmoved(&program, args, &why, terminal);
    }
    let features = match looptax_redirect::probe(switches) {
        Ok(features) => features,
        Err(obstacle) if args.strict => return Err(not_run(RedirectError::Forbidden(obstacle))),
        Err(obstacle) => return unmoved(&program, args, &why(&obstacle), terminal),
    };
    if args.strict && is_idle {
        let why = "no process accepts connections on any socket given by --map";
        return Err(Failure::usage(why, AS_IT_IS).into());
    }
    let config = Config {
        program,
        mapping,
        features,
        switches,
        wants_events: args.verbose,
        keeps_running: args.keep_running,
        ends_all: false,
        steering: None,
        surroundings: Surroundings::default(),
    };
    let mut warned = BTreeSet::new();
    let mut say = |event| {
        if args.verbose {
            terminal.words_for(true, &words::event(event, &config.mapping));
        }
        if let Event::Moved { route_idx, .. } = event
            && !is_whole
        {
            let warnings = words::route_warnings(&candidates, route_idx);
            if warned.insert(warnings.clone()) {
                terminal.words_for(true, &warnings);
            }
        }
    };
    let ended = looptax_redirect::run(&config, &mut say).map_err(not_run)?;
    let summary = words::summary(&ended.stats, &config.mapping, args.stats);
    terminal.words_for(args.stats, &summary);
    Ok(exit_of(&ended))
}

fn switches(args: &RunArgs) -> Result<Switches, Failure> {
    let mut switches = Switches::default();
    for name in &args.without {
        if !switches.set(name) {
            let hint = "--without is for tests; crates/redirect/src/switches.rs lists the features";
            return Err(Failure::usage(format!("--without `{name}`: no feature has this name"), hint));
        }
    }
    Ok(switches)
}

/// Runs the program without moving its connections.
fn unmoved(program: &Program, args: &RunArgs, why: &str, terminal: Terminal) -> Result<Exit, NotRun> {
    if args.strict {
        return Err(Failure::usage(why, AS_IT_IS).into());
    }
    terminal.words(&words::line(&format!("looptax moves no connection: {why}")));
    Err(not_run(looptax_redirect::exec(program)))
}

/// Returns the obstacle and its cause, in one line.
fn why(obstacle: &Obstacle) -> String {
    match std::error::Error::source(obstacle) {
        Some(source) => format!("{obstacle}: {source}"),
        None => obstacle.to_string(),
    }
}

fn not_run(error: RedirectError) -> NotRun {
    let exit = match &error {
        RedirectError::Exec { source, .. } if source.kind() == io::ErrorKind::NotFound => Exit::NotFound,
        RedirectError::Exec { .. } => Exit::NotExecutable,
        _ => Exit::NotRun,
    };
    let hint = match exit {
        Exit::NotFound => "install the program and put it in PATH, or pass its full path",
        Exit::NotExecutable => "check that the file is a program and that you may execute it",
        _ if matches!(error, RedirectError::Forbidden(_)) => AS_IT_IS,
        _ => "run the command without looptax; the command then uses TCP",
    };
    NotRun { failure: Failure::from(error).with_hint(hint), exit }
}

fn exit_of(ended: &Ended) -> Exit {
    match ended.exit {
        ProgramExit::Code(code) => Exit::Program(code),
        ProgramExit::Signal(signal) => {
            looptax_redirect::die_of(signal);
            // If the signal does not end this process, looptax exits with the code that a shell would return.
            Exit::Program(128 + signal)
        }
    }
}
