//! The load engine's plan of a comparison: slices, warm-up, interim analyses, time limits.

use std::time::Duration;

use looptax_bench::{Budget, Contrast, Course, Placement, Plan, ServerThreads, Shape, SidePlan, WarmUp};
use looptax_model::record::EPOCHS_PER_UNSAMPLED;
use looptax_model::stats::InterimAnalyses;

use super::case::Case;
use crate::spec::target::TargetSpec;
use crate::spec::{Effort, Experiment};
use crate::target::Target;

/// Number of epochs with long slices: they take some 80 s, enough to narrow an interval to a percentage point or two.
const LONG_SLICE_EPOCHS: usize = 20;
/// If a server is slow, slices are shortened until there is time for this many epochs, so that a verdict rarely depends
/// on a single epoch.
const WANTED_EPOCHS: usize = 10;
/// Time limit for one reply.
const IO_LIMIT: Duration = Duration::from_secs(10);
/// Time limit for a whole dump.
const DUMP_LIMIT: Duration = Duration::from_secs(10 * 60);

/// Returns the maximum number of epochs of one contrast, if its slices keep their first length.
pub(super) fn most_epochs(settings: &Experiment, case: &Case) -> usize {
    interim_analyses(settings, case).n_max()
}

pub(super) fn shape(settings: &Experiment, case: &Case) -> Shape {
    if settings.requests.are_dumps() {
        return Shape::whole();
    }
    let shape = match (case.placement, &case.load) {
        (Placement::Free, _) => Shape::settling(),
        (_, load) if load.is_open() => Shape::open(),
        _ => Shape::short(),
    };
    settings.slice.map_or(shape, |slice| shape.with_slice(slice))
}

/// Returns the interim analyses, which depend on effort and placement.
pub fn interim_analyses(settings: &Experiment, case: &Case) -> InterimAnalyses {
    let is_running = settings.targets.iter().any(|it| matches!(it, TargetSpec::Running(_)));
    if case.slice.is_some() {
        return InterimAnalyses::fixed(LONG_SLICE_EPOCHS);
    }
    let are_dumps = settings.requests.are_dumps();
    match settings.effort {
        Effort::Epochs(_) | Effort::Time(_) => {}
        _ if case.placement == Placement::Free && !are_dumps => return InterimAnalyses::short(),
        // A server that other people use is kept busy for at most 20 s. This is the time for 40 epochs of one contrast,
        // or for 20 epochs of each of two contrasts.
        _ if is_running && !settings.is_own_server => {
            let has_one = case.clients.len() * (case.arms.len() - 1) == 1;
            return if has_one { InterimAnalyses::quick() } else { InterimAnalyses::short() };
        }
        _ => {}
    }
    let full = if are_dumps {
        // An epoch of dumps has only two runs per arm, so a single disturbed run spoils the epoch. Epochs after the
        // last analysis of a quick run would add little.
        InterimAnalyses::quick()
    } else {
        InterimAnalyses::full()
    };
    let epoch = shape(settings, case).epoch();
    settings.effort.analyses(full, Some(epoch))
}

/// Makes the load engine's plan for a case.
///
/// `capacity_per_s` is the slower arm's capacity, if the case's rate is a share of it.
pub fn bench(settings: &Experiment, target: &Target, case: &Case, seed: u64, capacity_per_s: Option<f64>) -> Plan {
    let n_others = case.arms.len() - 1;
    let contrasts = { case.clients.iter() }.flat_map(|client| (1..=n_others).map(move |other| (client, other)));
    let names = contrasts.clone().map(|(client, other)| format!("{}, {}, {client}", case.arms[0], case.arms[other]));
    let analyses = interim_analyses(settings, case);
    Plan {
        course: Course {
            seed,
            names: names.collect(),
            connections: case.connections as usize,
            shape: shape(settings, case),
            warm_up: warm_up_of(settings, case, target.has_load_limits),
            stopping: settings.effort.stopping(analyses, settings.deadline),
            max_sample_bytes: settings.sample_bytes,
        },
        contrasts: contrasts
            .map(|(client, other)| Contrast {
                pair: [0, other as u32],
                sides: [(0, 0), (other, 1)].map(|(arm, times)| SidePlan {
                    client: client.on(case.arms[arm]),
                    inject_ns: settings.inject_ns.map(|ns| ns * times),
                }),
            })
            .collect(),
        pacing: case.load.pacing(case.placement, capacity_per_s),
        placement: case.placement,
        // It is not known beforehand which thread will serve a new connection, so all threads of the server are placed.
        server_threads: if settings.requests.are_connects() { ServerThreads::Single } else { target.threads },
        // The shape is not adapted in an open loop: at a rate that the server cannot keep up with, latencies would grow
        // without limit.
        may_adapt_shape: case.slice.or(settings.slice).is_none()
            && !case.load.is_open()
            && !settings.requests.are_dumps(),
        budget: budget(settings, case, target.has_load_limits),
        keys: target.keys(),
        are_comparable: target.workload.is_repeatable(),
        least_data_bytes: target.workload.least_data_bytes(),
        io_limit: if settings.requests.are_dumps() { DUMP_LIMIT } else { IO_LIMIT },
    }
}

/// Returns the time that the plan promises. A time is promised if the user requested a time or a short run, or if other
/// clients use the server. If the user requested a number of epochs, no time is promised: all epochs are measured, and
/// the plan shows how long they take.
pub(super) fn budget(settings: &Experiment, case: &Case, has_load_limits: bool) -> Option<Budget> {
    let is_promised = match settings.effort {
        Effort::Epochs(_) => false,
        Effort::Quick | Effort::Time(_) => true,
        Effort::Full | Effort::Precise => has_load_limits,
    };
    let n_contrasts = (case.clients.len() * (case.arms.len() - 1)) as u32;
    let n_epochs = most_epochs(settings, case) as u32;
    let sampled = if settings.is_sampled { EPOCHS_PER_UNSAMPLED as usize } else { 1 };
    is_promised.then(|| Budget {
        time: shape(settings, case).epoch() * n_contrasts * n_epochs,
        wanted_epochs: WANTED_EPOCHS * sampled,
    })
}

/// Returns the requested warm-up, or otherwise the warm-up that suits the server and the placement.
pub(super) fn warm_up_of(settings: &Experiment, case: &Case, has_load_limits: bool) -> WarmUp {
    match settings.warm_up {
        // A running server is already warm, and is kept busy for at most 20 s.
        _ if has_load_limits || settings.requests.are_dumps() => WarmUp::epochs(1),
        Some(length) => WarmUp::steady(2, length, length),
        None if case.placement == Placement::Free => WarmUp::epochs(2),
        None => WarmUp::steady(4, Duration::from_secs(2), Duration::from_secs(10)),
    }
}
