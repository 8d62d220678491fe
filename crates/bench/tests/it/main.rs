//! The load engine from outside, against a peer in this process that can be told to misbehave.
//!
//! Nothing here holds a time or a rate against a number: only counts, orders, keys and errors.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and wait"
)]

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
    ClientModel, Contrast, Distribution, KeyShare, KeySpace, Observer, Outcome, Placement, Plan,
    ServerThreads, Shape, SidePlan, Silent, Stopping, WarmUp, run,
};
use looptax_model::stats::{InterimAnalyses, StopRule};

use peer::Peers;

const MS: Duration = Duration::from_millis(1);

/// Two equal sides for `n_epochs` short epochs after one of warming up.
fn plan(client: ClientModel, connections: usize, n_epochs: usize) -> Plan {
    let side = SidePlan {
        client,
        inject_ns: None,
    };
    Plan {
        seed: 11,
        connections,
        contrasts: vec![Contrast {
            name: "one, two".to_owned(),
            pair: [0, 1],
            sides: [side; 2],
        }],
        pacing: looptax_bench::Pacing::FLAT_OUT,
        placement: Placement::ClientPinned,
        server_threads: ServerThreads::PerConnection,
        shape: Shape {
            slice: MS * 5,
            guard: MS,
            jitter: MS,
            ..Shape::short()
        },
        may_adapt_shape: false,
        budget: None,
        warm_up: WarmUp {
            least_epochs: 1,
            least: Duration::ZERO,
            at_most: Duration::ZERO,
        },
        stopping: Stopping {
            analyses: InterimAnalyses::fixed(n_epochs),
            rule: StopRule { is_precise: false },
            delta: 0.01,
            deadline: None,
        },
        keys: KeySpace {
            n: 1_000_000,
            share: KeyShare::All,
            distribution: Distribution::Uniform,
        },
        are_comparable: true,
        least_data_bytes: peer::DATA_BYTES,
        max_sample_bytes: usize::MAX,
        io_limit: Duration::from_secs(20),
    }
}

/// Runs `plan` against `peers`, watched by `observer`.
fn watched(plan: &Plan, peers: &mut Peers, observer: &mut dyn Observer) -> Outcome {
    run(plan, peers, observer, &AtomicBool::new(false)).unwrap()
}

/// Runs `plan` against `peers`, unwatched.
fn outcome(plan: &Plan, peers: &mut Peers) -> Outcome {
    watched(plan, peers, &mut Silent)
}
