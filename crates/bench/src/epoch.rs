//! One epoch: fresh connections, priming, then slices of one side after the other.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_stats::{Epoch, Noise, Side, Slice};

use crate::clock::now_ns;
use crate::connect::{Connector, Wired};
use crate::cores::{CoreMap, pin_worker};
use crate::error::{BenchError, side_name};
use crate::load::{
    ClientThread, Command, Failure, Gate, Lane, LaneLimits, LeaveOnDrop, Load, SliceSpec, Store,
    Tally,
};
use crate::machine::{CpuTicks, MachineDelta, Snapshot};
use crate::plan::{ClientModel, Plan};
use crate::schedule::{EpochDraw, opposite};
use crate::server_cpu::{ServerMeter, ServerReading};
use crate::shape::Shape;
use crate::sys::process_cpu_ns;

/// Untimed requests on each new connection; fewer where there are very many.
const PRIMING: u64 = 20;
/// From so many connections up, [`PRIMING_MANY`] are enough to warm caches that they share.
const MANY_CONNECTIONS: usize = 256;
const PRIMING_MANY: u64 = 5;
/// Latencies per second that all client threads together may have: sizes their buffers.
const MOST_REQUESTS_PER_S: f64 = 2_000_000.0;
/// A tick of `/proc/stat`.
const TICK_NS: f64 = 10_000_000.0;

/// One slice as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceData {
    /// Whose connections ran.
    pub side: Side,
    /// Start of the guard, in nanoseconds since the run began.
    pub start_ns: u64,
    /// Length of the guard.
    pub guard_ns: u64,
    /// Length of the counted window.
    pub active_ns: u64,
    /// From its end to the last answer.
    pub drain_ns: u64,
    /// Answers in the window; of them in its first 10 ms.
    pub completions: u64,
    /// See `completions`.
    pub early: u64,
    /// Answers after the window, and their latencies in nanoseconds.
    pub drained: u64,
    /// See `drained`.
    pub drained_ns: Vec<u32>,
    /// All answers, guard and drain included: what the CPU was spent on.
    pub requests: u64,
    /// Sum of the counted latencies in nanoseconds.
    pub latency_sum_ns: u64,
    /// System calls of the client: send, receive, wait.
    pub sends: u64,
    /// See `sends`.
    pub receives: u64,
    /// See `sends`.
    pub waits: u64,
    /// CPU of the client threads, and of it in user mode, in nanoseconds.
    pub client_cpu_ns: u64,
    /// See `client_cpu_ns`.
    pub client_user_ns: u64,
    /// Context switches of the client threads.
    pub client_voluntary: u64,
    /// See `client_voluntary`.
    pub client_involuntary: u64,
    /// CPU of the server's processes in nanoseconds, where known.
    pub server_cpu_ns: Option<u64>,
    /// Context switches of its threads, where known.
    pub server_switches: Option<u64>,
    /// Time burnt by an injected delay, in nanoseconds.
    pub injected_ns: u64,
    /// Answers by bucket of the window; empty for short slices.
    pub buckets: Vec<u32>,
    /// Digest of the connections' first answers.
    pub checksum: u64,
    /// Latencies that found no room.
    pub n_unsampled: u64,
}

/// One epoch as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochData {
    /// Time to open and prove all connections, in nanoseconds.
    pub reconnect_ns: u64,
    /// Time to prime them.
    pub prime_ns: u64,
    /// Where the ends ran.
    pub cores: CoreMap,
    /// In the order of time.
    pub slices: Vec<SliceData>,
    /// Latencies in the counted windows, `[baseline, other]`, in nanoseconds; empty beyond the cap.
    pub samples: [Vec<u32>; 2],
    /// What else the machine did.
    pub machine: MachineDelta,
    /// CPU of this process during the slices, in nanoseconds.
    pub own_cpu_ns: Option<u64>,
    /// Whether both sides gave the same answers to the same keys.
    pub answers_agree: bool,
}

impl EpochData {
    /// The part that verdicts are made of.
    pub fn numbers(&self) -> Epoch {
        let server_cpu_ns: Option<u64> = self.slices.iter().map(|slice| slice.server_cpu_ns).sum();
        let noise = self
            .machine
            .ticks
            .map(|ticks| noise(ticks, self.own_cpu_ns, server_cpu_ns));
        Epoch {
            slices: self.slices.iter().map(numbers_of_slice).collect(),
            latencies_ns: self.samples.clone(),
            noise,
        }
    }
}

fn numbers_of_slice(slice: &SliceData) -> Slice {
    Slice {
        side: slice.side,
        completions: slice.completions,
        early: slice.early,
        active_ns: slice.active_ns,
        drained: slice.drained,
        drain_ns: slice.drain_ns,
        requests: slice.requests,
        client_cpu_ns: Some(slice.client_cpu_ns),
        server_cpu_ns: slice.server_cpu_ns,
        client_switches: slice.client_voluntary + slice.client_involuntary,
    }
}

fn noise(ticks: CpuTicks, own_cpu_ns: Option<u64>, server_cpu_ns: Option<u64>) -> Noise {
    let sum = ticks.user + ticks.nice + ticks.system;
    let total = sum + ticks.idle + ticks.iowait + ticks.irq + ticks.softirq + ticks.steal;
    Noise {
        total_ticks: total as f64,
        steal_ticks: ticks.steal as f64,
        softirq_ticks: ticks.softirq as f64,
        busy_ticks: sum as f64,
        own_ticks: own_cpu_ns.unwrap_or(0) as f64 / TICK_NS,
        server_ticks: server_cpu_ns.unwrap_or(0) as f64 / TICK_NS,
    }
}

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
        let wired = connector
            .connect(order.contrast_idx, draw.first, plan.connections)
            .map_err(|source| BenchError::Connect {
                contrast: contrast.name.clone(),
                source,
            })?;
        let n_threads = self.n_threads(order.contrast_idx);
        let cores = CoreMap::deal(
            plan.placement,
            plan.server_threads,
            self.cores,
            plan.connections,
            n_threads,
            draw.core_seed,
        );
        for side in &wired {
            pin_workers(side, &cores, self.cores)?;
        }
        let reconnect_ns = now_ns() - start_ns;
        let meters = [ServerMeter::new(&wired[0]), ServerMeter::new(&wired[1])];
        let threads = self.threads(wired, n_threads, order);
        let load = Load {
            sides: contrast.sides,
            seed: plan.seed,
            epoch: order.epoch,
            n_keys: plan.n_keys,
            bucket: order.shape.bucket,
        };
        let conducted = self.drive(threads, &cores, &load, |gate, runner| {
            runner.conduct(order, &draw, gate, &meters)
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
        let gate = &Gate::new(threads.len());
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
        if is_event {
            self.cores.len().min(self.plan.connections)
        } else {
            self.plan.connections
        }
    }

    fn threads(
        &mut self,
        wired: [Vec<Wired>; 2],
        n_threads: usize,
        order: &EpochOrder,
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
        self.stores.resize_with(n_threads, Store::default);
        let mut threads: Vec<ClientThread> = self
            .stores
            .drain(..)
            .enumerate()
            .map(|(idx, mut store)| {
                store.prepare(order.n_slices, n_buckets, n_lanes, n_samples);
                ClientThread {
                    lanes: [Vec::new(), Vec::new()],
                    idx,
                    n_threads,
                    store,
                }
            })
            .collect();
        for (side_idx, side) in wired.into_iter().enumerate() {
            for (connection, wired) in side.into_iter().enumerate() {
                threads[connection % n_threads].lanes[side_idx].push(Lane::new(wired, limits));
            }
        }
        threads
    }

    /// The coordinator's part: primes, waits, then runs one slice after the other.
    fn conduct(
        &self,
        order: &EpochOrder,
        draw: &EpochDraw,
        gate: &Gate,
        meters: &[ServerMeter; 2],
    ) -> Result<Option<Conducted>, Failure> {
        let n_requests = if self.plan.connections >= MANY_CONNECTIONS {
            PRIMING_MANY
        } else {
            PRIMING
        };
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
            let start_ns = now_ns();
            let spec = slice_spec(side, n_before[side.idx()], start_ns, order.shape);
            gate.run(Command::Slice(spec))?;
            let spent = meter.read().since(before);
            n_before[side.idx()] += 1;
            slices.push(ConductedSlice {
                spec,
                start_ns: start_ns - self.run_start_ns,
                spent,
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

fn pin_workers(wired: &[Wired], map: &CoreMap, cores: &[usize]) -> Result<(), BenchError> {
    for (it, core) in wired.iter().zip(&map.server) {
        if let (Some(worker), true) = (it.worker, it.may_pin) {
            pin_worker(worker, *core, cores).map_err(|source| BenchError::Machine {
                action: "pin a server thread",
                source,
            })?;
        }
    }
    Ok(())
}

/// What the coordinator saw of an epoch, before the client threads' counts are added.
struct Conducted {
    prime_ns: u64,
    slices: Vec<ConductedSlice>,
    machine: MachineDelta,
    own_cpu_ns: Option<u64>,
    guard: Duration,
}

struct ConductedSlice {
    spec: SliceSpec,
    start_ns: u64,
    spent: ServerReading,
}

impl Conducted {
    fn finish(self, stores: &[Store], cores: CoreMap, reconnect_ns: u64) -> EpochData {
        let guard_ns = self.guard.as_nanos() as u64;
        let slices = self
            .slices
            .iter()
            .enumerate()
            .map(|(idx, slice)| slice_data(slice, idx, stores, guard_ns))
            .collect();
        EpochData {
            reconnect_ns,
            prime_ns: self.prime_ns,
            cores,
            slices,
            samples: [0, 1].map(|side| {
                stores
                    .iter()
                    .flat_map(|store| &store.samples[side])
                    .copied()
                    .collect()
            }),
            machine: self.machine,
            own_cpu_ns: self.own_cpu_ns,
            answers_agree: answers_agree(&self.slices, stores),
        }
    }
}

fn slice_data(slice: &ConductedSlice, idx: usize, stores: &[Store], guard_ns: u64) -> SliceData {
    let mut total = Tally::default();
    let mut checksum = 0_u64;
    for store in stores {
        total.merge(&store.tallies[idx]);
        for digests in &store.digests[idx] {
            checksum = checksum.rotate_left(7) ^ digests.last();
        }
    }
    let spec = slice.spec;
    SliceData {
        side: spec.side,
        start_ns: slice.start_ns,
        guard_ns,
        active_ns: spec.stop_at_ns - spec.count_from_ns,
        drain_ns: total.last_answer_ns.saturating_sub(spec.stop_at_ns),
        completions: total.completions,
        early: total.early,
        drained: total.drained,
        drained_ns: total.drained_ns,
        requests: total.requests,
        latency_sum_ns: total.latency_sum_ns,
        sends: total.sends,
        receives: total.receives,
        waits: total.waits,
        client_cpu_ns: total.cpu_ns,
        client_user_ns: total.user_ns,
        client_voluntary: total.voluntary,
        client_involuntary: total.involuntary,
        server_cpu_ns: slice.spent.cpu_ns,
        server_switches: slice.spent.switches,
        injected_ns: total.injected_ns,
        buckets: total.buckets,
        checksum,
        n_unsampled: total.n_unsampled,
    }
}

/// Slices of equal rank asked for the same keys: their answers' common prefixes must be equal.
fn answers_agree(slices: &[ConductedSlice], stores: &[Store]) -> bool {
    let idx_of = |side: Side, rank: u64| {
        slices
            .iter()
            .position(|slice| slice.spec.side == side && slice.spec.rank == rank)
    };
    slices
        .iter()
        .filter(|slice| slice.spec.side == Side::Baseline)
        .all(|slice| {
            let rank = slice.spec.rank;
            match (idx_of(Side::Baseline, rank), idx_of(Side::Other, rank)) {
                (Some(one), Some(two)) => stores.iter().all(|store| {
                    store.digests[one]
                        .iter()
                        .zip(&store.digests[two])
                        .all(|(one, two)| one.agrees_with(two))
                }),
                _ => true,
            }
        })
}
