//! Errands: requests that bring their own connections are counted, timed and ended like any others.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use looptax_bench::{
    BenchError, ClientModel, ConnectError, Connector, Errand, ErrandCalls, Errands, LoadError,
    Outcome, Silent, Stage, Wired, run,
};
use looptax_failure::Failure;
use looptax_stats::Side;
use looptax_wire::Draws;

use crate::plan;

/// Counts its own runs, and fails after so many.
struct Counting {
    n_runs: Arc<AtomicU64>,
    fails_after: u64,
}

impl Errand for Counting {
    fn run(&mut self, _draws: &mut dyn Draws) -> Result<ErrandCalls, Failure> {
        if self.n_runs.fetch_add(1, Ordering::Relaxed) >= self.fails_after {
            return Err(io::Error::from(io::ErrorKind::AddrNotAvailable).into());
        }
        Ok(ErrandCalls {
            sends: 3,
            receives: 2,
        })
    }
}

/// Gives errands and no connections.
struct Errander {
    n_runs: [Arc<AtomicU64>; 2],
    /// Of the other side.
    fails_after: u64,
}

impl Errander {
    fn new(fails_after: u64) -> Self {
        Self {
            n_runs: [Arc::default(), Arc::default()],
            fails_after,
        }
    }

    fn n_runs(&self) -> u64 {
        self.n_runs
            .iter()
            .map(|it| it.load(Ordering::Relaxed))
            .sum()
    }
}

impl Connector for Errander {
    fn errands(
        &mut self,
        _contrast_idx: usize,
        _first: Side,
        _coins: u64,
        n: usize,
    ) -> Result<Option<Errands>, ConnectError> {
        let of = |side: Side, fails_after| {
            let errand = || {
                Box::new(Counting {
                    n_runs: Arc::clone(&self.n_runs[side.idx()]),
                    fails_after,
                }) as Box<dyn Errand>
            };
            std::iter::repeat_with(errand).take(n).collect()
        };
        Ok(Some(Errands {
            sides: [
                of(Side::Baseline, u64::MAX),
                of(Side::Other, self.fails_after),
            ],
            server_pid: Some(std::process::id()),
            may_pin: false,
        }))
    }

    fn connect(
        &mut self,
        _contrast_idx: usize,
        _first: Side,
        _coins: u64,
        _n: usize,
    ) -> Result<[Vec<Wired>; 2], ConnectError> {
        Err(Failure::new("errands need no connections").into())
    }
}

fn outcome(errander: &mut Errander, connections: usize) -> Outcome {
    let plan = plan(ClientModel::Block, connections, 6);
    run(&plan, errander, &mut Silent, &AtomicBool::new(false)).unwrap()
}

#[test]
fn every_errand_is_counted_once() {
    for connections in [1, 3] {
        let mut errander = Errander::new(u64::MAX);
        let found = outcome(&mut errander, connections);
        assert!(found.failure.is_none(), "{found:?}");
        assert_eq!(found.n_requests, errander.n_runs());
        let epochs = &found.contrasts[0].epochs;
        let slices = || epochs.iter().flat_map(|it| &it.raw.slices);
        // A single slice may see none: a busy machine takes longer breaks than a slice is long.
        assert!(slices().any(|slice| slice.completions > 0));
        for slice in slices() {
            assert_eq!(slice.sends, 3 * slice.requests);
            assert_eq!(slice.receives, 2 * slice.requests);
            assert!(slice.server_cpu_ns.is_some());
        }
    }
}

#[test]
fn an_errand_that_fails_ends_the_run_with_its_cause() {
    let found = outcome(&mut Errander::new(3), 1);
    let Some(BenchError::Request {
        side,
        stage,
        source: LoadError::Errand { source },
        ..
    }) = found.failure
    else {
        panic!("{found:?}");
    };
    assert_eq!((side, stage), ("other", Stage::Slice));
    let cause: &io::Error = source.chain().next().unwrap().downcast_ref().unwrap();
    assert_eq!(cause.kind(), io::ErrorKind::AddrNotAvailable);
}
