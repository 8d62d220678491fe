//! Measures one target: runs its cases one after the other, each from its plan to a judged comparison in the record.

mod capacity;
pub(crate) mod judging;
pub mod plan;
mod record_writer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_bench::path::LocalPorts;
use looptax_bench::{BenchError, Outcome, Placement, glimpse, run};
use looptax_model::analysis::proved_arm::ProvedArm;
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;
use looptax_model::record;
use looptax_model::stats::{median, rate_modes};

use crate::connector::TargetConnector;
use crate::observer::Unit;
use crate::observer::{Observer, Scene};
use crate::spec::Experiment;
use crate::target::Target;
use crate::target::counters::Counter;
use plan::{Case, Doing};
pub use record_writer::RecordWriter;

/// After a failure, looptax checks this many times whether the server has ended: all checks together take a fifth of a
/// second.
const LOOKS_AFTER_FAILURE: usize = 20;
/// Pause between two checks whether the server has ended.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// Measures all cases of a target; the record is saved after each case.
pub(crate) fn target(
    target: &mut Target,
    settings: &Experiment,
    cases: &[Case],
    writer: &mut RecordWriter,
    stage: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let mut capacities = Capacities::default();
    for (case_idx, case) in cases.iter().enumerate() {
        if stop.load(Ordering::Relaxed) || settings.is_over() {
            break;
        }
        let seed = settings.seed.wrapping_add(case_idx as u64);
        stage.begin(scene(target, case));
        let measured = match case.doing {
            Doing::Judge => capacities.capacity_for(target, settings, case, seed, stop).and_then(|capacity| {
                let case = Loaded { case, capacity };
                judge(target, settings, case, seed, writer, stage, stop)
            }),
            Doing::Glimpse(length) => glimpse_at(target, settings, case, seed, length, writer, stop),
        };
        stage.end();
        writer.record.interrupted |= stop.load(Ordering::Relaxed);
        writer.save_early();
        stage.kept(&writer.record);
        measured.map_err(|failure| with_log(failure, target))?;
    }
    Ok(())
}

fn scene(target: &Target, case: &Case) -> Scene {
    let named = |arms: [Arm; 2]| arms.map(|arm| arm.name().to_owned());
    Scene {
        title: format!("{}, {}, {}", target.name, plan::case_name(case), target.workload),
        arms: case.pairs().into_iter().map(named).collect(),
        news: match case.doing {
            Doing::Judge if case.load.needs_capacity() => "measuring the capacity of the slower arm".to_owned(),
            Doing::Judge => "connecting, then warming up".to_owned(),
            Doing::Glimpse(length) => format!("a glimpse of {}, without a verdict", plan::minutes(length)),
        },
        unit: Unit::Requests,
        processes: target.processes(&case.arms),
    }
}

/// A case, with the capacity that was measured for it.
#[derive(Clone, Copy)]
struct Loaded<'a> {
    case: &'a Case,
    /// The capacity of the slower arm, in requests per second; `None` unless the case's rate is a percentage of this
    /// capacity.
    capacity: Option<f64>,
}

/// The capacities measured so far, each with its number of connections and placement.
#[derive(Default)]
struct Capacities(Vec<(u32, Placement, f64)>);

impl Capacities {
    /// Returns the slower arm's capacity, if the case needs it. The capacity is measured only once.
    fn capacity_for(
        &mut self,
        target: &Target,
        settings: &Experiment,
        case: &Case,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Option<f64>, Failure> {
        if !case.load.needs_capacity() {
            return Ok(None);
        }
        let (connections, placement) = (case.connections, case.placement);
        let is_here = |it: &&(u32, Placement, f64)| (it.0, it.1) == (connections, placement);
        if let Some((_, _, known)) = self.0.iter().find(is_here) {
            return Ok(Some(*known));
        }
        let found = capacity::capacity_per_s(target, settings, case, seed, stop)?;
        if let Some(found) = found {
            self.0.push((connections, placement, found));
        }
        Ok(found)
    }
}

/// If the server has ended, adds to the failure how the server ended, because this explains more than the failure
/// itself.
pub(crate) fn with_log(failure: Failure, target: &mut Target) -> Failure {
    // The connections of a killed process close a moment before its end is visible.
    let ended = (0..LOOKS_AFTER_FAILURE).find_map(|look_idx| {
        if look_idx > 0 {
            thread::sleep(LOOK_PAUSE);
        }
        target.has_exited()
    });
    match ended {
        // Chance decides whether a request or a new connection fails first, so the failure is always marked as invalid.
        Some(how) => failure
            .context(how)
            .with_hint("the end of the server's log is above; looptax concludes nothing from this comparison")
            .invalid(),
        None => failure,
    }
}

fn judge(
    target: &Target,
    settings: &Experiment,
    Loaded { case, capacity }: Loaded<'_>,
    seed: u64,
    writer: &mut RecordWriter,
    stage: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let plan = plan::bench(settings, target, case, seed, capacity);
    let pairs = case.pairs();
    let mut connector = TargetConnector::new(target, pairs);
    // If other clients use the server, the server's counter also counts the requests of these clients, so looptax does
    // not use the counter.
    let counter = (!target.has_load_limits).then(|| Counter::start(target)).flatten();
    let ports = ports(settings, case);
    let mut outcome = run(&plan, &mut connector, stage, stop)?;
    if let (None, Err(not_moved)) = (&outcome.failure, connector.check()) {
        outcome.failure =
            Some(BenchError::Connect { contrast: plan.course.names[0].clone(), source: not_moved.into() });
    }
    stage.sift(&mut outcome.contrasts)?;
    let time_wait = ports.zip(LocalPorts::read()).map(time_wait);
    let server_count = counter.and_then(|counter| count(&counter, target, &outcome, &connector));
    let n_others = case.arms.len() - 1;
    // If the run was cut short, no interim analysis is planned at the point where the run stopped, so the strictest
    // level of the schedule applies.
    let cut_short = plan.course.stopping.analyses.iter().next();
    let cut_short_alpha = cut_short.map_or(0.05, |analysis| analysis.alpha);
    let schedule = judging::schedule(&plan.course, &outcome, settings.effort);
    let Outcome { contrasts, failure, .. } = outcome;
    let mut contrasts = contrasts.into_iter();
    for (client_idx, client) in case.clients.iter().enumerate() {
        let mut comparison = judging::skeleton(target, settings, case, *client, schedule.clone());
        let arms = arms(target, case, &connector, client_idx * n_others)?;
        let mut endings = Vec::with_capacity(n_others);
        for contrast in contrasts.by_ref().take(n_others) {
            endings.push(judging::ending_of(&contrast, cut_short_alpha, failure.as_ref()));
            writer.take(&mut comparison, contrast);
        }
        if comparison.raw.epochs.is_empty() {
            continue;
        }
        if let Some(placed) = judging::placed(case.placement, &comparison.raw) {
            comparison.placement = placed;
        }
        if let Some(stream) = judging::dumped(&target.workload, &comparison.raw) {
            comparison.workload.stream = Some(stream);
        }
        comparison.server_count.clone_from(&server_count);
        comparison.time_wait.clone_from(&time_wait);
        comparison.load = judging::load_of(target, case, &plan, capacity);
        let first = client_idx * n_others;
        stage.add(first..first + n_others, &mut comparison);
        writer.add(comparison, &arms, &endings);
        looptax_model::analysis::compare_slice_lengths(&mut writer.record.comparisons);
    }
    failure.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Reads the state of the local TCP ports, if the workload leaves closed connections behind.
fn ports(settings: &Experiment, case: &Case) -> Option<LocalPorts> {
    let has_tcp = case.arms.contains(&Arm::Tcp);
    (has_tcp && settings.requests.are_connects()).then(LocalPorts::read).flatten()
}

fn time_wait((before, after): (LocalPorts, LocalPorts)) -> record::TimeWait {
    record::TimeWait {
        before: before.n_time_wait,
        after: after.n_time_wait,
        local_ports: after.n_ports,
        reuse: after.reuse,
    }
}

/// Returns the server's count of requests together with looptax's count. If an epoch was broken off, returns `None`,
/// because looptax did not count the requests of that epoch.
fn count(
    counter: &Counter,
    target: &Target,
    outcome: &Outcome,
    connector: &TargetConnector<'_>,
) -> Option<record::ServerCount> {
    if outcome.is_interrupted || outcome.failure.is_some() {
        return None;
    }
    Some(record::ServerCount {
        counter: counter.name.clone(),
        sent: counter.expected(target, outcome.n_requests, connector.n_prepared),
        counted: counter.grown(target)?,
    })
}

fn arms(
    target: &Target,
    case: &Case,
    connector: &TargetConnector<'_>,
    first_contrast: usize,
) -> Result<Vec<ProvedArm>, Failure> {
    let mut arms = Vec::with_capacity(case.arms.len());
    for (idx, arm) in case.arms.iter().enumerate() {
        let contrast_idx = first_contrast + idx.saturating_sub(1);
        let proof = connector.proofs.get(contrast_idx).and_then(|pair| pair[usize::from(idx > 0)].as_ref());
        arms.push(judging::arm(*arm, target, proof)?);
    }
    Ok(arms)
}

fn glimpse_at(
    target: &Target,
    settings: &Experiment,
    case: &Case,
    seed: u64,
    length: std::time::Duration,
    writer: &mut RecordWriter,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let plan = plan::bench(settings, target, case, seed, None);
    let mut connector = TargetConnector::new(target, case.pairs());
    let Some(seen) = glimpse(&plan, &mut connector, length, stop)? else {
        return Ok(());
    };
    connector.check()?;
    let arms = [0, 1].map(|side| looked_at(case.arms[side], &seen.rates_per_s[side]));
    let placement = judging::placement_for(&target.workload, case.placement);
    let (target, workload) = judging::what(target, settings);
    writer.record.looks.push(record::Look {
        target,
        workload,
        connections: case.connections,
        placement,
        client: case.clients[0].on(case.arms[0]).into(),
        client_like: case.clients[0].like(&case.arms),
        seconds: seen.took.as_secs_f64(),
        arms: arms.to_vec(),
        reason: None,
    });
    Ok(())
}

fn looked_at(arm: Arm, rates_per_s: &[f64]) -> record::LookArm {
    let mut sorted = rates_per_s.to_vec();
    let median = median(&mut sorted).unwrap_or(0.0);
    record::LookArm {
        name: arm.name().to_owned(),
        rate_100ms_per_s: record::RateRange {
            min: sorted.first().copied().unwrap_or(0.0),
            median,
            max: sorted.last().copied().unwrap_or(0.0),
        },
        modes_per_s: rate_modes(rates_per_s).map_or_else(Vec::new, |modes| vec![modes.low_per_s, modes.high_per_s]),
    }
}
