//! Placements on a single core.

use std::sync::atomic::AtomicBool;
use std::thread;

use looptax_bench::{BenchError, ClientModel, Outcome, Placement, Plan, ServerThreads, Silent, allowed_cores, run};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::peer::Peers;
use crate::plan;

/// Runs a plan in a thread that may use only the first of the allowed cores.
fn on_one_core(placement: Placement, threads: ServerThreads) -> Result<Outcome, BenchError> {
    let run_there = move || {
        let mut one = CpuSet::new();
        one.set(allowed_cores().unwrap()[0]);
        sched_setaffinity(None, &one).unwrap();
        let plan = Plan { placement, server_threads: threads, ..plan(ClientModel::Poll, 3, 1) };
        run(&plan, &mut Peers::right(), &mut Silent, &AtomicBool::new(false))
    };
    thread::spawn(run_there).join().unwrap()
}

#[test]
fn split_on_one_core_is_refused() {
    for threads in [ServerThreads::PerConnection, ServerThreads::Single] {
        let found = on_one_core(Placement::Split, threads);
        assert!(matches!(found, Err(BenchError::Machine { .. })), "{found:?}");
    }
}

#[test]
fn same_and_free_work_on_one_core() {
    for placement in [Placement::Same, Placement::Free] {
        for threads in [ServerThreads::PerConnection, ServerThreads::Single] {
            let outcome = on_one_core(placement, threads).unwrap();
            assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
            let raw = &outcome.contrasts[0].epochs[0].raw;
            let only = allowed_cores().unwrap()[0] as u32;
            let expected = (placement == Placement::Same).then_some(only);
            assert_eq!(raw.client_cores, [expected; 3]);
            // The threads that serve these connections are not known.
            assert_eq!(raw.server_cores, [None; 3]);
            assert_eq!(raw.follows, None);
        }
    }
}
