//! `compare --exec`: whole commands compared with each other, from the plan to the record.
//!
//! looptax adds the flags for the transport to commands of tools that it knows, and watches every command to see which
//! transport the command really uses. The load is made by the user's program.

mod line;
pub(crate) mod plan;
mod record;
mod watch;

use std::sync::atomic::{AtomicBool, Ordering};

use looptax_bench::{Course, Shape, WholePlan, run_commands};
use looptax_model::failure::Failure;

use crate::measure::{RecordWriter, with_log};
use crate::observer::Unit;
use crate::observer::{Observer, Scene};
use crate::spec::Experiment;
use crate::spec::exec::Exec;
use crate::target::Target;
use watch::Onlooker;

/// Runs the commands against `target`; without a target, the commands connect to the servers that they name themselves.
pub(crate) fn measure(
    mut target: Option<&mut Target>,
    settings: &Experiment,
    exec: &Exec,
    writer: &mut RecordWriter,
    stage: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let plan = bench_plan(target.as_deref(), settings, exec)?;
    let mut watcher = Onlooker::new(target.as_deref(), plan::pair_of_arms(settings))?;
    stage.begin(Scene {
        title: label(target.as_deref(), exec),
        arms: vec![plan::pair_of_arms(settings).map(|arm| arm.name().to_owned())],
        news: "running the command once over each arm; these two runs do not count".to_owned(),
        unit: Unit::Runs,
        processes: Vec::new(),
    });
    let (mut outcome, seen) = run_commands(&plan, &mut watcher, stage, stop);
    stage.end();
    let target_seen = target.as_deref();
    record::add(target_seen, settings, exec, &plan, &mut outcome, seen, writer)?;
    writer.record.interrupted |= stop.load(Ordering::Relaxed);
    writer.save_early();
    stage.kept(&writer.record);
    let failure = outcome.failure.map(Failure::from);
    failure.map_or(Ok(()), |failure| {
        Err(match &mut target {
            Some(target) => with_log(failure, target),
            None => failure,
        })
    })
}

fn bench_plan(target: Option<&Target>, settings: &Experiment, exec: &Exec) -> Result<WholePlan, Failure> {
    let [baseline, other] = plan::pair_of_arms(settings);
    let sides = [line::command_for(target, exec, baseline)?, line::command_for(target, exec, other)?];
    Ok(WholePlan {
        course: Course {
            seed: settings.seed,
            names: vec![format!("{baseline}, {other}")],
            connections: 1,
            shape: Shape::whole(),
            warm_up: WholePlan::WARM_UP,
            stopping: plan::stopping(settings),
            max_sample_bytes: 0,
        },
        sides,
        timeout: exec.timeout,
        server_pid: target.filter(|target| target.is_private()).and_then(Target::pid),
    })
}

fn label(target: Option<&Target>, exec: &Exec) -> String {
    let program = plan::program(exec);
    match target {
        Some(target) => format!("{program} on {}", target.name),
        None => program,
    }
}
