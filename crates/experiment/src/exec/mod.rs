//! `compare --exec`: whole commands held against each other, from the plan to the record.
//!
//! Tools that looptax knows are told their transport; every command is watched for the one that it
//! really uses. What is measured is the load of somebody else's program.

mod line;
pub(crate) mod plan;
mod record;
mod watch;

use std::sync::atomic::{AtomicBool, Ordering};

use looptax_bench::{WholePlan, run_commands};
use looptax_model::failure::Failure;
use looptax_model::stats::StopRule;

use crate::measure::plan::DELTA;
use crate::measure::{RecordWriter, with_log};
use crate::observer::Unit;
use crate::observer::{Observer, Scene};
use crate::spec::exec::Exec;
use crate::spec::{Effort, Experiment};
use crate::target::Target;
use watch::Onlooker;

/// Runs the commands against `target`, or against whatever they find themselves.
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
        news: "one run of each first, which does not count".to_owned(),
        unit: Unit::Runs,
        processes: Vec::new(),
    });
    let outcome = run_commands(&plan, &mut watcher, stage, stop);
    stage.end();
    if !outcome.contrast.epochs.is_empty() {
        let judged = record::comparison(target.as_deref(), settings, exec, &plan, &outcome)?;
        writer.record.comparisons.push(judged);
    }
    writer.record.interrupted |= stop.load(Ordering::Relaxed);
    writer.save_early();
    let failure = outcome.failure.map(Failure::from);
    failure.map_or(Ok(()), |failure| {
        Err(match &mut target {
            Some(target) => with_log(failure, target),
            None => failure,
        })
    })
}

fn bench_plan(
    target: Option<&Target>,
    settings: &Experiment,
    exec: &Exec,
) -> Result<WholePlan, Failure> {
    let [baseline, other] = plan::pair_of_arms(settings);
    let sides = [
        line::command_for(target, exec, baseline)?,
        line::command_for(target, exec, other)?,
    ];
    Ok(WholePlan {
        seed: settings.seed,
        name: format!("{baseline}, {other}"),
        sides,
        timeout: exec.timeout,
        length: plan::length(settings.effort),
        rule: StopRule {
            is_precise: settings.effort == Effort::Precise,
        },
        delta: DELTA,
        deadline: settings.deadline,
        server_pid: target
            .filter(|target| target.is_private())
            .and_then(Target::pid),
    })
}

fn label(target: Option<&Target>, exec: &Exec) -> String {
    let program = plan::program(exec);
    match target {
        Some(target) => format!("{program} on {}", target.name),
        None => program,
    }
}
