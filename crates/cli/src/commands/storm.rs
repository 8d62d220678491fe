//! `compare --workload storm`: opens many connections at once to a private server, over the socket and over TCP in
//! turns.

use std::time::Duration;

use looptax_experiment::comparison::record_begun;
use looptax_experiment::spec::target::{self, TargetSpec};
use looptax_experiment::spec::{new_seed, seed, typed};
use looptax_experiment::storm::{self, KINDS, Spec};
use looptax_model::failure::Failure;
use looptax_model::record::WarningCode;

use crate::args::CompareArgs;
use crate::commands::begin;
use crate::failure::Exit;
use crate::record_place::RecordPlace;
use crate::results;
use crate::signals::stop_flag;
use crate::sys;
use crate::terminal::stage::Stage;
use crate::terminal::{Terminal, stream};

const STORM: &str = "storm";
const CONNECTIONS: [u32; 3] = [50, 200, 800];
const STORMS: u32 = 10;
/// A looptax process keeps at most this many connections open at the same time.
const MOST_CONNECTIONS: u32 = 16_384;

/// Whether the user asked for storms.
///
/// # Errors
/// If options of a storm are given without a storm, or a storm is given together with other workloads.
pub(crate) fn is_asked(args: &CompareArgs) -> Result<bool, Failure> {
    let words = args.workload.as_deref().unwrap_or_default();
    if words == STORM {
        return Ok(true);
    }
    if words.split(',').any(|it| it == STORM) {
        return Err(Failure::usage(
            "a storm cannot run together with other workloads",
            "use --workload storm and no other workload",
        ));
    }
    match args.storm.typed() {
        Some(option) => Err(Failure::usage(
            format!("{option} works only with storms of connections"),
            format!("for example looptax compare private:mariadb --workload storm {option} …"),
        )),
        None => Ok(false),
    }
}

/// Runs the storms, keeps the results and shows them.
pub(crate) fn run(args: &CompareArgs, terminal: Terminal) -> Result<Exit, Failure> {
    refuse_others(args)?;
    let spec = spec(args)?;
    results::announce(&args.result)?;
    let plan = plan(&spec);
    terminal.words(&format!("{plan}\n"));
    if args.dry_run {
        if args.result.json_stream {
            stream::show_plan(stream::plan_in_words(&plan), true)?;
        }
        return Ok(Exit::Done);
    }
    sys::require_measurable()?;
    let stop = stop_flag()?;
    let Some(alone) = begin::wait(&args.begin, args.turn.wait, terminal, &stop)? else {
        return Ok(Exit::Interrupted);
    };
    sys::raise_open_files();
    let record = record_begun(std::env::args().collect(), spec.seed);
    let (mut writer, mut place) = RecordPlace::prepare(&args.result, record, terminal)?;
    writer.record.problems.extend(alone.problem());
    let mut stage = Stage::stream_or_line(args.result.json_stream, terminal, &stop);
    stage.plan(stream::plan_in_words(&plan));
    stage.problems(WarningCode::OtherRun, &writer.record);
    let found = storm::run(&spec, &mut stage, &stop);
    // If the program that reads the JSON lines has ended, looptax has interrupted the run, and reports no failure.
    if stage.is_unread() {
        return Ok(Exit::Done);
    }
    drop(stage);
    let found = found?;
    if found.is_none() {
        terminal.words("interrupted: the storms so far are discarded");
        return Ok(Exit::Interrupted);
    }
    writer.record.storms = found;
    results::keep(&args.result, &mut writer, &mut place, terminal)?;
    Ok(Exit::Done)
}

fn spec(args: &CompareArgs) -> Result<Spec, Failure> {
    const ONE: &str = "for example looptax compare private:mariadb --workload storm --stall 300ms";
    let [target] = &*args.targets else {
        return Err(Failure::usage("a storm needs one private server", ONE));
    };
    let kind = match target::parse(target)? {
        TargetSpec::Private(kind) if KINDS.contains(&kind) => kind,
        TargetSpec::Private(kind) => {
            let kinds = KINDS.map(|it| format!("private:{it}")).join(", ");
            return Err(Failure::usage(format!("looptax cannot make a storm of connections to {kind}"), kinds));
        }
        TargetSpec::Running(_) => {
            return Err(Failure::usage(
                "looptax makes no storm of connections to a running server: other clients would fail too",
                ONE,
            ));
        }
    };
    let word = match &*args.client_like {
        [] => None,
        [word] => Some(word.as_str()),
        _ => return Err(Failure::usage("a storm imitates only one client", "pass only one of the clients")),
    };
    let connections = if args.connections.is_empty() { CONNECTIONS.to_vec() } else { args.connections.clone() };
    if connections.iter().any(|it| !(1..=MOST_CONNECTIONS).contains(it)) {
        return Err(Failure::usage(
            format!("a storm needs 1 to {MOST_CONNECTIONS} connections"),
            "for example -c 50,200,800",
        ));
    }
    Ok(Spec {
        kind,
        client: storm::client(word, kind)?,
        connections,
        n_storms: args.storm.storms.unwrap_or(STORMS),
        stall: args.storm.stall.unwrap_or_default(),
        rate_per_s: rate(&args.rate)?,
        queue: args.storm.queue,
        seed: args.seed.as_deref().map_or_else(new_seed, seed)?,
    })
}

fn rate(words: &[String]) -> Result<Option<f64>, Failure> {
    let wrong = || {
        Failure::usage(
            "for a storm, --rate has to be a single number, in connects per second",
            "for example --rate 2000/s",
        )
    };
    match words {
        [] => Ok(None),
        [word] => Ok(Some(typed::rate(word).filter(|it| (1.0..=1e6).contains(it)).ok_or_else(wrong)?)),
        _ => Err(wrong()),
    }
}

/// Refuses options that a storm would ignore without a message.
fn refuse_others(args: &CompareArgs) -> Result<(), Failure> {
    let formats = &args.result.formats;
    let all = [
        (!args.arms.is_empty(), "--arms"),
        (args.remedies, "--remedies"),
        (args.sweep.is_some(), "--sweep"),
        (args.exec.exec.is_some() || args.exec.exec_unix.is_some(), "--exec"),
        (!args.client.is_empty(), "--client"),
        (!args.placement.is_empty(), "--placement"),
        (args.rate_sweep, "--rate-sweep"),
        (args.think.is_some(), "--think"),
        (args.reconnect_every.is_some(), "--reconnect-every"),
        (args.fixed.is_some(), "--fixed"),
        (args.precise, "--precise"),
        (args.live, "--live"),
        (args.result.html.is_some(), "--html"),
        (args.result.detail.at.is_some(), "--at"),
        (formats.is_any(), "--md, --csv, --openmetrics, --benchmark-json, --folded or --pprof"),
    ];
    match all.into_iter().find(|it| it.0) {
        Some((_, option)) => Err(Failure::usage(
            format!("{option} does not work with --workload storm"),
            "a storm accepts -c, --client-like, --rate, --stall, --queue, --storms, --seed, --json, --output, --label \
             and --no-history",
        )),
        None => Ok(()),
    }
}

fn plan(spec: &Spec) -> String {
    let sizes: Vec<String> = spec.connections.iter().map(u32::to_string).collect();
    let stalled = if spec.stall > Duration::ZERO {
        format!("; looptax stops the server for {} ms in each storm", spec.stall.as_millis())
    } else {
        String::new()
    };
    format!(
        "plan: {} storms over each arm with {} connections; looptax connects like {}{stalled}; then looptax searches \
         for the smallest accept queue with which no connection fails",
        spec.n_storms,
        sizes.join(", "),
        spec.client.library()
    )
}
