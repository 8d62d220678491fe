//! One-shot connections: requests that open their own connections are counted, timed and ended like all other requests.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use looptax_bench::{
    BenchError, ClientModel, ConnectError, Connector, LoadError, OneShotCalls, OneShotClient, OneShotClients, Outcome,
    Silent, Stage, Wired, run,
};
use looptax_model::failure::Failure;
use looptax_model::stats::Side;
use looptax_wire::Draws;

use crate::plan;

/// Counts its own runs, and fails after a number of them.
struct Counting {
    n_runs: Arc<AtomicU64>,
    fails_after: u64,
}

impl OneShotClient for Counting {
    fn run(&mut self, _draws: &mut dyn Draws) -> Result<OneShotCalls, Failure> {
        if self.n_runs.fetch_add(1, Ordering::Relaxed) >= self.fails_after {
            return Err(io::Error::from(io::ErrorKind::AddrNotAvailable).into());
        }
        Ok(OneShotCalls { sends: 3, receives: 2 })
    }
}

/// Provides one-shot clients, and no connections.
struct OneShotConnector {
    n_runs: [Arc<AtomicU64>; 2],
    fails_after: u64,
}

impl OneShotConnector {
    fn new(fails_after: u64) -> Self {
        Self { n_runs: [Arc::default(), Arc::default()], fails_after }
    }

    fn n_runs(&self) -> u64 {
        self.n_runs.iter().map(|it| it.load(Ordering::Relaxed)).sum()
    }
}

impl Connector for OneShotConnector {
    fn one_shot_clients(
        &mut self,
        _contrast_idx: usize,
        _first: Side,
        _coins: u64,
        n: usize,
    ) -> Result<Option<OneShotClients>, ConnectError> {
        let clients_of = |side: Side, fails_after| {
            let client = || {
                Box::new(Counting { n_runs: Arc::clone(&self.n_runs[side.idx()]), fails_after })
                    as Box<dyn OneShotClient>
            };
            std::iter::repeat_with(client).take(n).collect()
        };
        Ok(Some(OneShotClients {
            sides: [clients_of(Side::Baseline, u64::MAX), clients_of(Side::Other, self.fails_after)],
            standing_pids: Vec::new(),
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
        Err(Failure::new("one-shot clients need no connections").into())
    }
}

fn outcome(connector: &mut OneShotConnector, connections: usize) -> Outcome {
    let plan = plan(ClientModel::Block, connections, 6);
    run(&plan, connector, &mut Silent, &AtomicBool::new(false)).unwrap()
}

#[test]
fn every_one_shot_request_is_counted_once() {
    for connections in [1, 3] {
        let mut connector = OneShotConnector::new(u64::MAX);
        let found = outcome(&mut connector, connections);
        assert!(found.failure.is_none(), "{found:?}");
        assert_eq!(found.n_requests, connector.n_runs());
        let epochs = &found.contrasts[0].epochs;
        let slices = || epochs.iter().flat_map(|it| &it.raw.slices);
        // A single slice may have no answers, because pauses on a busy machine can be longer than a slice.
        assert!(slices().any(|slice| slice.completions > 0));
        for slice in slices() {
            assert_eq!(slice.sends, 3 * slice.requests);
            assert_eq!(slice.receives, 2 * slice.requests);
            assert!(slice.server_cpu_ns.is_some());
        }
    }
}

#[test]
fn a_one_shot_request_that_fails_ends_the_run_with_its_cause() {
    let found = outcome(&mut OneShotConnector::new(3), 1);
    let Some(BenchError::Request { side, stage, source: LoadError::OneShot { source }, .. }) = found.failure else {
        panic!("{found:?}");
    };
    assert_eq!((side, stage), ("other", Stage::Slice));
    let cause: &io::Error = source.chain().next().unwrap().downcast_ref().unwrap();
    assert_eq!(cause.kind(), io::ErrorKind::AddrNotAvailable);
}
