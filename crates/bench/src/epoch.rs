//! One epoch: fresh connections, priming, then slices of one side after the other.
//!
//! The coordinator's part: it opens, pins, primes and conducts, and sleeps while a slice runs.

mod data;
mod gather;
mod source;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use looptax_stats::Side;

use crate::clock::now_ns;
use crate::connect::Connector;
use crate::cores::CoreMap;
use crate::error::{BenchError, side_name};
use crate::load::{
    ClientThread, Command, Failure, Gate, LaneLimits, LeaveOnDrop, Load, SliceSpec, Store,
};
use crate::machine::Snapshot;
use crate::plan::{ClientModel, Pacing, Placement, Plan, ServerThreads};
use crate::schedule::{EpochDraw, opposite};
use crate::server_cpu::ServerMeter;
use crate::shape::Shape;
use crate::sys::{process_cpu_ns, process_user_ns};
pub use data::{EpochData, SliceData};
use gather::{Conducted, ConductedSlice};
use source::Source;

/// Latencies per second that all client threads together may have: sizes their buffers.
const MOST_REQUESTS_PER_S: f64 = 2_000_000.0;

/// Room for requests beyond the expected number, whose gaps are random.
const LAGS_SPARE: usize = 1_000;

/// What one epoch needs to know; lives as long as the run.
pub(crate) struct EpochRunner<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) cores: &'a [usize],
    pub(crate) stop: &'a AtomicBool,
    pub(crate) run_start_ns: u64,
    /// Client threads' memory, handed from epoch to epoch.
    pub(crate) stores: Vec<Store>,
}

/// Which epoch to run.
pub(crate) struct EpochOrder {
    pub(crate) contrast_idx: usize,
    pub(crate) epoch: u64,
    pub(crate) shape: Shape,
    pub(crate) n_slices: usize,
}

impl EpochRunner<'_> {
    /// Runs one epoch; `None` when told to stop in the middle of it.
    pub(crate) fn run(
        &mut self,
        order: &EpochOrder,
        connector: &mut dyn Connector,
    ) -> Result<Option<EpochData>, BenchError> {
        let plan = self.plan;
        let contrast = &plan.contrasts[order.contrast_idx];
        let draw = EpochDraw::new(
            plan.seed,
            order.contrast_idx,
            order.epoch,
            order.shape.jitter,
        );
        let start_ns = now_ns();
        let source = Source::open(connector, order.contrast_idx, &draw, plan.connections).map_err(
            |source| BenchError::Connect {
                contrast: contrast.name.clone(),
                source,
            },
        )?;
        let n_threads = self.n_threads(order.contrast_idx);
        let cores = CoreMap::deal(
            plan.placement,
            plan.server_threads,
            self.cores,
            plan.connections,
            n_threads,
            draw.core_seed,
        );
        source.pin(&cores, self.cores)?;
        let reconnect_ns = now_ns() - start_ns;
        let meters = source.meters();
        let n_priming = if order.shape.is_whole() {
            0
        } else {
            source.n_priming(plan.connections)
        };
        let load = Load {
            sides: contrast.sides,
            seed: plan.seed,
            epoch: order.epoch,
            pacing: plan.pacing,
            keys: plan.keys,
            n_connections: plan.connections,
            bucket: order.shape.bucket,
            is_whole: order.shape.is_whole(),
        };
        let threads = self.threads(source, n_threads, order, &load);
        let conducted = self.drive(threads, &cores, &load, |gate, runner| {
            runner.conduct(order, &draw, gate, n_priming, &meters)
        })?;
        let conducted = conducted.map_err(|failure| BenchError::Request {
            contrast: contrast.name.clone(),
            side: side_name(failure.side),
            stage: failure.stage,
            source: failure.source,
        })?;
        Ok(conducted.map(|conducted| conducted.finish(&self.stores, cores, reconnect_ns)))
    }

    /// Starts the client threads, lets `conduct` command them, and takes their memory back.
    fn drive<T>(
        &mut self,
        threads: Vec<ClientThread>,
        map: &CoreMap,
        load: &Load,
        conduct: impl FnOnce(&Gate, &Self) -> Result<T, Failure>,
    ) -> Result<Result<T, Failure>, BenchError> {
        let connections = threads.iter().flat_map(ClientThread::connections).collect();
        let gate = &Gate::new(threads.len(), connections, self.plan.io_limit);
        let cores = self.cores;
        let driven = thread::scope(|scope| {
            let leave = LeaveOnDrop(gate);
            let start = |thread: ClientThread| {
                let core = map.client[thread.idx];
                thread::Builder::new()
                    .spawn_scoped(scope, move || thread.run(gate, load, core, cores))
            };
            let running = threads
                .into_iter()
                .map(start)
                .collect::<io::Result<Vec<_>>>()?;
            let conducted = conduct(gate, self);
            drop(leave);
            let ended: Vec<_> = running
                .into_iter()
                .map(|handle| {
                    handle
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect();
            Ok((conducted, ended))
        });
        let (conducted, ended) = driven.map_err(|source| BenchError::Machine {
            action: "start a client thread",
            source,
        })?;
        for (store, pinned) in ended {
            pinned.map_err(|source| BenchError::Machine {
                action: "pin a client thread",
                source,
            })?;
            self.stores.push(store);
        }
        Ok(conducted)
    }

    /// A thread per connection, or for the event client one per core (`free`, too). Where only one
    /// side is an event client, the other's need of threads decides: both sides have the same ones.
    fn n_threads(&self, contrast_idx: usize) -> usize {
        let is_event = self.plan.contrasts[contrast_idx]
            .sides
            .iter()
            .all(|side| side.client == ClientModel::Event);
        // A single server thread and its clients share one core under `same`: one loop has it all.
        let is_one_core = self.plan.placement == Placement::Same
            && self.plan.server_threads == ServerThreads::Single;
        match (is_event, is_one_core) {
            (true, true) => 1,
            (true, false) => self.cores.len().min(self.plan.connections),
            (false, _) => self.plan.connections,
        }
    }

    fn threads(
        &mut self,
        source: Source,
        n_threads: usize,
        order: &EpochOrder,
        load: &Load,
    ) -> Vec<ClientThread> {
        let limits = LaneLimits {
            least_data_bytes: self.plan.least_data_bytes,
            io: self.plan.io_limit,
        };
        let shape = order.shape;
        let n_buckets = shape.bucket.map_or(0, |width| {
            shape.slice.div_duration_f64(width).ceil() as usize
        });
        let seconds = shape.slice.as_secs_f64() * order.n_slices as f64 / 2.0;
        let n_samples = (seconds * MOST_REQUESTS_PER_S / n_threads.div_ceil(2) as f64) as usize;
        let n_lanes = self.plan.connections.div_ceil(n_threads);
        // Guards have requests too, at most as many again.
        let n_lags = match self.plan.pacing {
            Pacing::Open(open) => {
                (2.0 * seconds * open.rate_per_s / n_threads as f64) as usize + LAGS_SPARE
            }
            Pacing::Closed { .. } => 0,
        };
        self.stores.resize_with(n_threads, Store::default);
        let mut threads: Vec<ClientThread> = self
            .stores
            .drain(..)
            .enumerate()
            .map(|(idx, mut store)| {
                store.prepare(order.n_slices, n_buckets, n_lanes, n_samples, n_lags);
                ClientThread {
                    lanes: [Vec::new(), Vec::new()],
                    errands: [None, None],
                    idx,
                    n_threads,
                    store,
                }
            })
            .collect();
        source.deal(&mut threads, limits, load);
        threads
    }

    /// The coordinator's part: primes, waits, then runs one slice after the other.
    fn conduct(
        &self,
        order: &EpochOrder,
        draw: &EpochDraw,
        gate: &Gate,
        n_requests: u64,
        meters: &[ServerMeter; 2],
    ) -> Result<Option<Conducted>, Failure> {
        let prime_start_ns = now_ns();
        for side in [draw.first, opposite(draw.first)] {
            gate.run(Command::Prime { side, n_requests })?;
        }
        let prime_ns = now_ns() - prime_start_ns;
        thread::sleep(draw.jitter);

        let own_start_ns = process_cpu_ns(std::process::id());
        let machine = Snapshot::read();
        let mut slices = Vec::with_capacity(order.n_slices);
        let mut n_before = [0_u64; 2];
        for side in draw.order(order.n_slices) {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let meter = &meters[side.idx()];
            let before = meter.read();
            let user_before_ns = process_user_ns();
            let start_ns = now_ns();
            let spec = slice_spec(side, n_before[side.idx()], start_ns, order.shape);
            gate.run(Command::Slice(spec))?;
            // This thread sleeps meanwhile: the process's time is that of its client threads.
            let client_user_ns = process_user_ns().saturating_sub(user_before_ns);
            let spent = meter.read().since(before);
            n_before[side.idx()] += 1;
            slices.push(ConductedSlice {
                spec,
                start_ns: start_ns - self.run_start_ns,
                spent,
                client_user_ns,
            });
        }
        let machine = Snapshot::read().since(machine);
        let own_cpu_ns = process_cpu_ns(std::process::id())
            .zip(own_start_ns)
            .map(|(now, then)| now - then);
        Ok(Some(Conducted {
            prime_ns,
            slices,
            machine,
            own_cpu_ns,
            guard: order.shape.guard,
            is_flat_out: self.plan.pacing.is_flat_out(),
            is_whole: order.shape.is_whole(),
            n_primed: 2 * n_requests * self.plan.connections as u64,
            are_comparable: self.plan.are_comparable,
        }))
    }
}

fn slice_spec(side: Side, rank: u64, start_ns: u64, shape: Shape) -> SliceSpec {
    let count_from_ns = start_ns + shape.guard.as_nanos() as u64;
    SliceSpec {
        side,
        rank,
        count_from_ns,
        stop_at_ns: count_from_ns + shape.slice.as_nanos() as u64,
    }
}
