//! Tests the load engine from outside, with peers in this process that misbehave on request.
//!
//! No test compares a time or a rate with a number: only counts, orders, keys and errors.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic, and wait")]

mod cores;
mod delays;
mod faults;
mod models;
mod one_shots;
mod peer;
mod samples;
mod schedule;
mod stopping;
mod whole;
mod whole_requests;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_bench::{
    ClientModel, Contrast, Course, Distribution, KeyShare, KeySpace, Observer, Outcome, Placement, Plan, ServerThreads,
    Shape, SidePlan, Silent, Stopping, WarmUp, run,
};
use looptax_model::stats::InterimAnalyses;

use peer::Peers;

const MS: Duration = Duration::from_millis(1);

/// Returns a plan with two equal sides and `n_epochs` short epochs after one warm-up epoch.
fn plan(client: ClientModel, connections: usize, n_epochs: usize) -> Plan {
    let side = SidePlan { client, inject_ns: None };
    Plan {
        course: Course {
            seed: 11,
            names: vec!["one, two".to_owned()],
            connections,
            shape: Shape { slice: MS * 5, guard: MS, jitter: MS, ..Shape::short() },
            warm_up: WarmUp::epochs(1),
            stopping: Stopping::at(InterimAnalyses::fixed(n_epochs), 0.01),
            max_sample_bytes: usize::MAX,
        },
        contrasts: vec![Contrast { pair: [0, 1], sides: [side; 2] }],
        pacing: looptax_bench::Pacing::FLAT_OUT,
        placement: Placement::ClientPinned,
        server_threads: ServerThreads::PerConnection,
        may_adapt_shape: false,
        budget: None,
        keys: KeySpace { n: 1_000_000, share: KeyShare::All, distribution: Distribution::Uniform },
        are_comparable: true,
        least_data_bytes: peer::DATA_BYTES,
        io_limit: Duration::from_secs(20),
    }
}

/// Adds a second contrast like the first, with separate epochs.
fn add_contrast(plan: &mut Plan) {
    plan.contrasts.push(plan.contrasts[0].clone());
    plan.course.names.push(plan.course.names[0].clone());
}

/// Runs `plan` with `peers` and reports its progress to `observer`.
fn watched(plan: &Plan, peers: &mut Peers, observer: &mut dyn Observer) -> Outcome {
    run(plan, peers, observer, &AtomicBool::new(false)).unwrap()
}

/// Runs `plan` with `peers`, without an observer.
fn outcome(plan: &Plan, peers: &mut Peers) -> Outcome {
    watched(plan, peers, &mut Silent)
}
