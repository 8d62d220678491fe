//! `compare`: makes the plan, measures one target after the other, writes the record, prints the table.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use looptax_experiment::AskPassword;
use looptax_experiment::Experiment;
use looptax_experiment::Machine;
use looptax_experiment::RecordWriter;
use looptax_experiment::comparison::parts::{Asked, Part};
use looptax_experiment::comparison::{empty_record, measure_all, parts};
use looptax_experiment::list_workloads;
use looptax_experiment::plan::minutes;
use looptax_experiment::spec::target::TargetSpec;
use looptax_host::discover::{is_listened_at, process};
use looptax_model::analysis::remedies;
use looptax_model::failure::Failure;
use looptax_model::record::WarningCode;

use crate::args::CompareArgs;
use crate::chains;
use crate::commands::{begin, storm};
use crate::failure::Exit;
use crate::record_place::RecordPlace;
use crate::results;
use crate::settings;
use crate::signals::stop_flag;
use crate::sys;
use crate::terminal::stage::Stage;
use crate::terminal::{self, Terminal, stream};

/// A run is reported if it took longer than its plan by more than this factor. The factor is above 1, because the
/// planned time does not include logins.
const LONGER: f64 = 1.2;

pub(crate) fn run(args: &CompareArgs, terminal: Terminal) -> Result<Exit, Failure> {
    if args.list {
        terminal::data(&list_workloads())?;
        return Ok(Exit::Done);
    }
    if storm::is_asked(args)? {
        return storm::run(args, terminal);
    }
    let asked = settings::asked(args)?;
    measure(&asked, args, terminal, |parts, ask, writer, stage, stop| measure_all(parts, ask, writer, stage, stop))
}

/// A function that measures the planned parts, and shows its progress with the [`Stage`].
type Measuring =
    fn(&[Part<'_>], (Machine, AskPassword), &mut RecordWriter, &mut Stage, &AtomicBool) -> Result<(), Failure>;

/// Measures the requested comparisons, then shows and keeps the record.
#[allow(clippy::disallowed_methods, reason = "the time that the user waits, not a measurement")]
pub(crate) fn measure(
    asked: &Asked,
    args: &CompareArgs,
    terminal: Terminal,
    measuring: Measuring,
) -> Result<Exit, Failure> {
    let settings = &asked.all[0].1;
    if args.live && !terminal::can_be_drawn_on() {
        return Err(Failure::usage(
            "--live needs a terminal on stderr that it can draw on",
            "without --live, looptax prints its progress line by line",
        ));
    }
    if !settings.is_sampled {
        chains::refuse(&args.result.formats)?;
    }
    results::announce(&args.result)?;
    // `Machine::make` has to be called before other threads start, and before looptax asks the user anything.
    let machine = Machine::make(settings);
    let parts = parts::planned(asked, &machine)?;
    if args.dry_run {
        stream::show_plan(stream::plan(&parts), args.result.json_stream)?;
        return Ok(Exit::Done);
    }
    sys::require_measurable()?;
    let is_open = needs_agreement(settings);
    if is_open {
        require_listeners(settings)?;
    }
    // The user has to see the plan before the question, so looptax prints the plan even with `--quiet`.
    terminal.words_for(is_open, &format!("{}\n", parts.text()));
    if is_open && !terminal::agrees("Measure the running server as planned?") {
        return Err(Failure::usage(
            "looptax measures a running server only if you agree to the plan",
            "--yes agrees; --dry-run shows only the plan",
        ));
    }
    let stop = stop_flag()?;
    let Some(alone) = begin::wait(&args.begin, args.turn.wait, terminal, &stop)? else {
        return Ok(Exit::Interrupted);
    };
    sys::raise_open_files();
    let (mut writer, mut place) = RecordPlace::prepare(&args.result, empty_record(settings), terminal)?;
    let mut stage = if args.live {
        let steps = parts.all.iter().flat_map(|part| part.plan.steps.clone());
        Stage::live(terminal, steps.collect(), &stop)?
    } else {
        Stage::stream_or_line(args.result.json_stream, terminal, &stop)
    };
    stage.plan(stream::plan(&parts));
    writer.record.problems.extend(alone.problem());
    stage.problems(WarningCode::OtherRun, &writer.record);
    writer.record.problems.extend(parts.not_measured());
    stage.problems(WarningCode::NotMeasured, &writer.record);
    let ask = (machine, terminal::password as AskPassword);
    let began = Instant::now();
    let measured = measuring(&parts.all, ask, &mut writer, &mut stage, &stop);
    writer.record.problems.extend(longer(&parts.all, began.elapsed()));
    stage.problems(WarningCode::TookLonger, &writer.record);
    if let Err(failure) = &measured {
        stage.failed(failure);
    }
    let is_unread = stage.is_unread();
    drop(stage);
    writer.record.interrupted |= stop.load(Ordering::Relaxed);
    if let Some(today) = &asked.today {
        writer.record.remedies = remedies::rank_remedies(&writer.record.comparisons, today);
    }
    let kept = results::keep(&args.result, &mut writer, &mut place, terminal);
    // Only the first error is reported. If both steps failed, the same full disk has caused both errors.
    measured.and(kept)?;
    writer.check_samples()?;
    if is_unread {
        return Ok(Exit::Done);
    }
    Ok(if stop.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::for_record(&writer.record) })
}

/// Returns a message if a running server was kept busy for longer than the user agreed to. Runs with private servers
/// get no message, because the planned time does not include the start of these servers.
fn longer(parts: &[Part<'_>], took: Duration) -> Option<String> {
    let is_running = |it: &TargetSpec| matches!(it, TargetSpec::Running(_));
    let is_promised = |part: &Part<'_>| {
        let is_others = part.settings.targets.iter().all(is_running) && !part.settings.is_own_server;
        is_others && !part.plan.at_most.is_zero()
    };
    let planned: Duration = parts.iter().map(|it| it.plan.at_most).sum();
    let is_longer = took > planned.mul_f64(LONGER) && parts.iter().all(is_promised);
    is_longer.then(|| format!("measuring took {}, but the plan said at most {}", minutes(took), minutes(planned)))
}

/// Fails if no process listens at the address of a running server, before looptax asks the user about this server.
fn require_listeners(settings: &Experiment) -> Result<(), Failure> {
    const LONGEST: Duration = Duration::from_secs(1);
    let own = process(std::process::id());
    for target in &settings.targets {
        let TargetSpec::Running(running) = target else { continue };
        let is_seen = own.as_ref().and_then(|own| is_listened_at(running.tcp, own));
        // A firewall rule may forward the address to a container, so only a refused connection proves that no server is
        // there.
        let is_refused = || {
            let error = TcpStream::connect_timeout(&running.tcp, LONGEST).err();
            error.is_some_and(|it| it.kind() == ErrorKind::ConnectionRefused)
        };
        if is_seen == Some(false) && is_refused() {
            return Err(Failure::usage(
                format!("no process listens at {}, the address in {}", running.tcp, running.shown),
                "`looptax find` lists the servers of this machine",
            ));
        }
    }
    Ok(())
}

/// Whether the user still has to agree to the plan, because it measures a running server.
fn needs_agreement(settings: &Experiment) -> bool {
    let is_running = |it: &TargetSpec| matches!(it, TargetSpec::Running(_));
    !settings.is_agreed && settings.targets.iter().any(is_running)
}
