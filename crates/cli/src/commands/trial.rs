//! `trial`: measures what an application would gain if it used the socket. This file has the plan, the turns, the
//! record and the next step.

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::Ordering;

use looptax_experiment::comparison::record_begun;
use looptax_experiment::servers::copies::CopyFolder;
use looptax_experiment::trial::{Ask, Begun, Program, Server, measure};
use looptax_host::waiting;
use looptax_model::failure::Failure;
use looptax_model::record::WarningCode;
use looptax_redirect::{Config, Program as Command, Surroundings, Switches, User};
use looptax_switch::diagnose::check::Client;
use looptax_switch::diagnose::moving::{self, Candidate, words};
use looptax_switch::{CopyWish, SiteCopy};
use rustix::event::PollFlags;

use super::program::check_name;
use crate::args::TrialArgs;
use crate::chains;
use crate::failure::Exit;
use crate::record_place::RecordPlace;
use crate::results;
use crate::settings::site::of_copy;
use crate::settings::trial as settings;
use crate::signals::stop_flag;
use crate::sys;
use crate::terminal::stage::Stage;
use crate::terminal::{self, Terminal, claim, stream};

pub(crate) fn run(args: &TrialArgs, terminal: Terminal) -> Result<Exit, Failure> {
    if let Some(site) = &args.site {
        return with_copies(args, site, terminal);
    }
    check_name("trial", &args.command)?;
    sys::hide_last_arguments(args.command.len().saturating_sub(1));
    run_command(args, &[], terminal)
}

/// Runs the trial with private copies of a site, and removes the copies afterwards.
fn with_copies(args: &TrialArgs, site: &Path, terminal: Terminal) -> Result<Exit, Failure> {
    let folder = CopyFolder::create()?;
    let copy = SiteCopy::plan(CopyWish { site, folder: &folder.path(), at_once: args.clients })?;
    for (name, text) in copy.files() {
        folder.write(name, text)?;
    }
    for name in copy.folders() {
        folder.make_folder(name)?;
    }
    if let Some(group) = copy.enters() {
        folder.let_enter(group)?;
    }
    copy.test()?;
    let outcome = run_command(&of_copy(args, &copy)?, copy.lines(), terminal);
    let removed = folder.remove();
    let exit = outcome?;
    removed?;
    Ok(exit)
}

/// Runs the trial with the command in `args`; `copies` describes the private copies that the command starts.
fn run_command(args: &TrialArgs, copies: &[String], terminal: Terminal) -> Result<Exit, Failure> {
    chains::refuse(&args.result.formats)?;
    results::announce(&args.result)?;
    sys::require_measurable()?;
    let (candidates, stays) = candidates(args)?;
    let ask = settings::asked(args, servers(args, &candidates)?)?;
    let plan = settings::plan(&ask, &stays, copies);
    if args.dry_run {
        stream::show_plan(stream::plan_in_words(&plan), args.result.json_stream)?;
        return Ok(Exit::Done);
    }
    // `begin` has to be called before other threads start, and before looptax asks the user anything.
    let begun = begin(args, &candidates)?;
    terminal.words_for(!args.yes, &plan);
    if !args.yes && !terminal::agrees("Start the application and request its pages as planned?") {
        return Err(Failure::usage(
            "looptax starts an application for a trial only if you agree to the plan",
            "--yes agrees; --dry-run shows only the plan",
        ));
    }
    if args.hold {
        return hold(&ask, begun);
    }
    try_it(args, &ask, &plan, begun, terminal)
}

/// Keeps the application running until standard input ends.
fn hold(ask: &Ask, begun: Begun) -> Result<Exit, Failure> {
    let stop = stop_flag()?;
    let mut program = begun.follow();
    program.hold(ask, &stop)?;
    terminal::data("ready\n")?;
    let mut input = io::stdin().lock();
    let mut bytes = [0; 4 << 10];
    loop {
        match waiting::until_ready(io::stdin(), PollFlags::IN, None) {
            Err(_) if waiting::has_stopped() => return Ok(Exit::Interrupted),
            ready => ready?,
        };
        if input.read(&mut bytes)? == 0 {
            return Ok(Exit::Done);
        }
    }
}

fn try_it(args: &TrialArgs, ask: &Ask, plan: &str, begun: Begun, terminal: Terminal) -> Result<Exit, Failure> {
    let stop = stop_flag()?;
    let alone = claim(terminal, args.turn.wait, &stop);
    sys::raise_open_files();
    let record = record_begun(settings::command_line(args), ask.seed);
    let (mut writer, mut place) = RecordPlace::prepare(&args.result, record, terminal)?;
    writer.record.problems.extend(alone.problem());
    let mut stage = Stage::stream_or_line(args.result.json_stream, terminal, &stop);
    stage.plan(stream::plan_in_words(plan));
    stage.problems(WarningCode::OtherRun, &writer.record);
    let tell = |found: &str| terminal.words(&format!("{found}\n"));
    let measured = measure(ask, begun.follow(), &mut writer, &mut stage, &tell, &stop);
    if let Err(failure) = &measured {
        stage.failed(failure);
    }
    let is_unread = stage.is_unread();
    drop(stage);
    writer.record.interrupted |= stop.load(Ordering::Relaxed);
    let kept = results::keep(&args.result, &mut writer, &mut place, terminal);
    // If the program that reads the JSON lines has ended, looptax has interrupted the run, and reports no failure.
    if is_unread {
        return kept.map(|()| Exit::Done);
    }
    measured.and(kept)?;
    writer.check_samples()?;
    if stop.load(Ordering::Relaxed) {
        terminal.words("interrupted: the result covers only what was measured so far\n");
        return Ok(Exit::Interrupted);
    }
    terminal.words(&settings::next_step(ask, &writer.record));
    Ok(Exit::for_record(&writer.record))
}

/// Returns the servers on this machine whose connections could be moved, and the reasons why other servers stay on TCP.
fn candidates(args: &TrialArgs) -> Result<(Vec<Candidate>, Vec<String>), Failure> {
    let candidates = moving::candidates(&args.moving.wanted(&args.command))?;
    // A server that is not running yet also counts, because the command itself may start it.
    let is_moved = |it: &Candidate| it.stays.is_none();
    if !candidates.iter().any(is_moved) {
        let why: String = words::plan(&candidates, true);
        let why = why.lines().next().unwrap_or_default().trim_start_matches("looptax: ").to_owned();
        let why = if why.is_empty() { words::nothing(&candidates, &args.moving.port, true) } else { why };
        return Err(Failure::usage(
            format!("nothing to try: {why}"),
            "`looptax find` lists the servers with their sockets; pass a server with --map ADDRESS=SOCKET",
        ));
    }
    let (moved, stay): (Vec<_>, Vec<_>) = candidates.into_iter().partition(is_moved);
    Ok((moved, words::stays(&stay)))
}

fn servers(args: &TrialArgs, candidates: &[Candidate]) -> Result<Vec<Server>, Failure> {
    let accounts = settings::accounts(&args.moving.login)?;
    let server = |candidate: &Candidate| Server {
        account: settings::account_of(candidate, &accounts),
        kind: match &candidate.server {
            Some((name, _)) => name.clone(),
            None => { candidate.from.first() }.map(|from| format!("port {}", from.port())).unwrap_or_default(),
        },
        from: candidate.from.clone(),
        to: candidate.to.clone(),
        pid: candidate.server.as_ref().map(|(_, pid)| *pid),
        is_own: false,
        is_given: candidate.server.is_none(),
    };
    Ok(candidates.iter().map(server).collect())
}

fn begin(args: &TrialArgs, candidates: &[Candidate]) -> Result<Begun, Failure> {
    let as_user = args.user.as_deref().map(|name| {
        let client = Client::find(None, Some(name))
            .map_err(|failure| failure.with_hint("pass a name from /etc/passwd with --user"))?;
        Ok::<_, Failure>(client.rights.map(|rights| User { uid: rights.uid, gid: rights.gid, groups: rights.groups }))
    });
    let switches = Switches::default();
    let features = looptax_redirect::probe(switches).map_err(|obstacle| {
        let error = looptax_redirect::RedirectError::Forbidden(obstacle);
        Failure::from(error).with_hint("a trial needs the same kernel features as `looptax run`")
    })?;
    sys::forget_variable("LOOPTAX_PASSWORD");
    Program::begin(Config {
        program: Command { args: args.command.clone() },
        mapping: moving::mapping(candidates),
        features,
        switches,
        wants_events: false,
        keeps_running: false,
        ends_all: true,
        steering: None,
        surroundings: Surroundings { as_user: as_user.transpose()?.flatten(), ..Surroundings::default() },
    })
}
