//! Requests as slices: fresh connections for each epoch, priming, then slices of the load engine.
//!
//! This is the coordinator's part: it opens, pins and primes the connections, sends the commands, and sleeps while a
//! slice runs. `connections` opens and distributes connections, `client_threads` and `workers` make the client threads,
//! and `gather` adds up the threads' counts. The loop is in `experiment`; `glimpse` measures a single epoch.

mod client_threads;
mod connections;
mod gather;
mod held;
mod seats;
mod workers;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_model::record::Slice;
use looptax_model::stats::{Quantile, Side, mean, quantile_of, rate_per_s};

use crate::budget::{Replanned, WarmedUp, replan};
use crate::clock::now_ns;
use crate::connect::{Connector, Helper};
use crate::cores::{CoreMap, cores_for, pin_tree};
use crate::error::{BenchError, side_name};
use crate::experiment::{Outcome, run_slices};
use crate::load::{Command, Load, SliceSpec, ThreadBuffers};
use crate::plan::{Placement, Plan};
use crate::process_tree;
use crate::progress::Observer;
use crate::schedule::opposite;
use crate::server_cpu::ServerMeter;
use crate::shape::Shape;
use crate::slices::{EpochOrder, FilledSlice, MeasuredEpoch, SliceOrder, SliceSource};
use crate::sys::{process_cpu_ns, process_user_ns};
use connections::Connections;
use held::Held;
use seats::{Ends, MOST_CONNECTIONS};
use workers::Workers;

/// Number of warm-up rounds whose epochs change the shape of later epochs.
const ADAPTING_ROUNDS: u64 = 2;

/// Runs the experiment until every contrast has ended, its time is over, `stop` is set, or a request fails.
///
/// # Errors
/// [`BenchError::Machine`] if the cores cannot be read or are too few; every later error is in [`Outcome::failure`],
/// together with the epochs that were measured before it.
pub fn run(
    plan: &Plan,
    connector: &mut dyn Connector,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome, BenchError> {
    let mut requests = Requests::new(plan, connector, stop)?;
    Ok(run_slices(&plan.course, &mut requests, observer, stop))
}

pub(crate) struct Requests<'a> {
    plan: &'a Plan,
    cores: Vec<usize>,
    connector: &'a mut dyn Connector,
    stop: &'a AtomicBool,
    /// The client threads' buffers, passed on from epoch to epoch.
    buffers: Vec<ThreadBuffers>,
    /// Set between the beginning of an epoch and its end.
    running: Option<Running>,
}

/// An epoch whose client threads run.
struct Running {
    /// Declared before the connections, because the first field is dropped first. So the threads get their cores back
    /// before the connections close.
    held: Held,
    contrast_idx: usize,
    shape: Shape,
    map: CoreMap,
    meters: [ServerMeter; 2],
    ends: Ends,
    helpers: [Option<Helper>; 2],
    workers: Workers,
    reconnect_ns: u64,
    prime_ns: u64,
    n_primed: u64,
    /// The plan of each slice, in chronological order.
    specs: Vec<SliceSpec>,
    /// CPU time of the helper in each slice.
    helper_cpu_ns: Vec<u64>,
}

impl<'a> Requests<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        connector: &'a mut dyn Connector,
        stop: &'a AtomicBool,
    ) -> Result<Self, BenchError> {
        Ok(Self { plan, cores: cores_for(plan.placement)?, connector, stop, buffers: Vec::new(), running: None })
    }

    /// Makes all client threads run a command.
    fn command(&self, running: &Running, command: Command) -> Result<(), BenchError> {
        let done = running.workers.barrier.run(command, self.stop);
        done.map_err(|failure| BenchError::Request {
            contrast: self.plan.course.names[running.contrast_idx].clone(),
            side: side_name(failure.side),
            stage: failure.stage,
            source: failure.source,
        })
    }
}

impl SliceSource for Requests<'_> {
    fn pair(&self, contrast_idx: usize) -> [u32; 2] {
        self.plan.contrasts[contrast_idx].pair
    }

    fn begin(&mut self, order: &EpochOrder) -> Result<(), BenchError> {
        let plan = self.plan;
        let (shape, n_connections) = (order.shape, plan.course.connections);
        let origins = self.connector.origins(order.contrast_idx);
        let start_ns = now_ns();
        let connections = Connections::open(self.connector, order, &plan.course)?;
        let n_threads = self.n_threads(order.contrast_idx);
        let to_hold = connections.cores_to_hold(&self.cores);
        let to_hold = to_hold.filter(|cores| cores.len() >= plan.placement.least_cores());
        let cores = to_hold.as_ref().unwrap_or(&self.cores);
        let map = CoreMap::deal(
            plan.placement,
            plan.server_threads,
            cores,
            n_connections,
            n_threads,
            order.draw.core_seed,
            to_hold.is_some(),
        );
        let helpers = self.connector.helpers(order.contrast_idx);
        let held = connections.pin(plan.server_threads, &map, &self.cores)?;
        pin_helpers(helpers, &map, &self.cores)?;
        let reconnect_ns = now_ns() - start_ns;
        let meters = connections.meters(plan.server_threads);
        let served_by = connections.workers();
        let n_requests = if shape.is_whole() { 0 } else { connections.n_priming(n_connections) };
        let load = Load {
            sides: plan.contrasts[order.contrast_idx].sides,
            seed: plan.course.seed,
            epoch: order.epoch,
            contrast: order.contrast_idx as u64,
            pacing: plan.pacing,
            keys: plan.keys,
            n_connections,
            bucket: shape.bucket,
            is_whole: shape.is_whole(),
        };
        let threads = self.threads(connections, n_threads, order, &load, &origins);
        let workers = Workers::start(threads, &map, &load, &self.cores, plan.io_limit)?;
        let mut running = Running {
            held,
            ends: Ends::default(),
            contrast_idx: order.contrast_idx,
            shape,
            map,
            meters,
            helpers,
            workers,
            reconnect_ns,
            prime_ns: 0,
            n_primed: 2 * n_requests * n_connections as u64,
            specs: Vec::with_capacity(order.n_slices),
            helper_cpu_ns: Vec::with_capacity(order.n_slices),
        };
        let prime_start_ns = now_ns();
        for side in [order.draw.first, opposite(order.draw.first)] {
            self.command(&running, Command::Prime { side, n_requests })?;
        }
        running.prime_ns = now_ns() - prime_start_ns;
        let is_known = served_by.iter().all(|side| (1..=MOST_CONNECTIONS).contains(&side.len()));
        if is_known && (to_hold.is_none() || plan.placement == Placement::Free) {
            let follows = Some(plan.placement).filter(|it| matches!(it, Placement::Same | Placement::Split));
            let tids = running.workers.barrier.tids();
            running.ends = Ends::new(served_by, &tids, &running.map.client, &self.cores, follows);
        }
        self.running = Some(running);
        Ok(())
    }

    fn fill(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, BenchError> {
        let Some(running) = &self.running else {
            return Ok(None);
        };
        let meter = &running.meters[order.side.idx()];
        let helper = running.helpers[order.side.idx()];
        let fail = |source| BenchError::Machine { action: "follow the server's thread", source };
        running.ends.follow(order.side).map_err(fail)?;
        let look = running.ends.look(order.side);
        let before = meter.read();
        let helper_before_ns = helper_cpu_ns(helper);
        let user_before_ns = process_user_ns();
        let start_ns = now_ns();
        let spec = slice_spec(order.side, order.rank, start_ns, running.shape);
        self.command(running, Command::Slice(spec))?;
        // This thread sleeps during the slice, so the process's CPU time is that of its client threads.
        let client_user_ns = process_user_ns().saturating_sub(user_before_ns);
        let helper_ns = helper_cpu_ns(helper).saturating_sub(helper_before_ns);
        let spent = meter.read().since(before);
        let seats = look.and_then(|look| Some(look.until(&running.ends.look(order.side)?)));
        if let Some(running) = &mut self.running {
            running.specs.push(spec);
            running.helper_cpu_ns.push(helper_ns);
        }
        Ok(Some(FilledSlice {
            slice: Slice {
                guard_ns: spec.count_from_ns - start_ns,
                active_ns: spec.stop_at_ns - spec.count_from_ns,
                client_user_ns: Some(client_user_ns),
                server_cpu_ns: spent.cpu_ns,
                server_switches: spent.switches,
                seats,
                ..Slice::default()
            },
            start_ns,
            ..FilledSlice::default()
        }))
    }

    fn end(&mut self, measured: &mut MeasuredEpoch) -> Result<(), BenchError> {
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        drop(std::mem::take(&mut running.held));
        let buffers = running.workers.end()?;
        running.add_counts(measured, &buffers, self.plan);
        self.buffers.splice(0..0, buffers);
        Ok(())
    }

    /// Returns the CPU time of this process and of its helpers; each helper counts once.
    fn own_cpu_ns(&self) -> Option<u64> {
        let helpers = self.running.as_ref().map_or([None; 2], |it| it.helpers);
        let [baseline, other] = helpers;
        let other = other.filter(|_| other != baseline);
        let helpers_ns = helper_cpu_ns(baseline) + helper_cpu_ns(other);
        process_cpu_ns(std::process::id()).map(|own_ns| own_ns + helpers_ns)
    }

    fn adapted(&self, round: u64, epoch: &MeasuredEpoch, shape: Shape) -> Shape {
        let plan = self.plan;
        if !plan.may_adapt_shape || round >= ADAPTING_ROUNDS {
            return shape;
        }
        let n_rounds = ADAPTING_ROUNDS.min(plan.course.warm_up.least_epochs as u64);
        // For the first connections the server does work that it does only once; a pooler, for example, opens its own
        // connections. So the time of the first connections does not count.
        let reconnect_us = if round + 1 < n_rounds { 0 } else { epoch.raw.reconnect_us + epoch.raw.prime_us };
        let p99 = p99(epoch);
        let reconnect = Duration::from_micros(reconnect_us);
        let grown = shape.adapted(slowest_per_s(epoch), p99, reconnect);
        let least = plan.course.shape.slice.max(p99 * 10);
        plan.budget.map_or(grown, |budget| budget.shortened(grown, plan.contrasts.len(), least))
    }

    fn replan(&self, shape: Shape, beside: Duration, n_epochs: usize) -> Option<Replanned> {
        let seen = WarmedUp {
            shape: [self.plan.course.shape, shape],
            beside,
            n_contrasts: self.plan.contrasts.len(),
            n_epochs,
        };
        replan(seen, self.plan.budget)
    }
}

/// Pins the helpers that are to run with the server. They get the server's core, or all cores if the server's threads
/// use several.
fn pin_helpers(helpers: [Option<Helper>; 2], map: &CoreMap, cores: &[usize]) -> Result<(), BenchError> {
    let first = map.server.first().copied().flatten();
    let core = first.filter(|first| map.server.iter().all(|it| *it == Some(*first)));
    let with_server = helpers.into_iter().flatten().filter(|it| it.sits_with_server);
    for helper in with_server {
        pin_tree(helper.pid, core, cores)
            .map_err(|source| BenchError::Machine { action: "pin a helper's threads", source })?;
    }
    Ok(())
}

/// Returns the CPU time of the process that helps one side's client; 0 if there is no helper.
fn helper_cpu_ns(helper: Option<Helper>) -> u64 {
    let cpu_ns =
        helper.and_then(|it| if it.sits_with_server { process_tree::cpu_ns(it.pid) } else { process_cpu_ns(it.pid) });
    cpu_ns.unwrap_or(0)
}

fn slice_spec(side: Side, rank: u64, start_ns: u64, shape: Shape) -> SliceSpec {
    let count_from_ns = start_ns + shape.guard.as_nanos() as u64;
    SliceSpec { side, rank, count_from_ns, stop_at_ns: count_from_ns + shape.slice.as_nanos() as u64 }
}

/// Returns the requests per second of the slower side of an epoch.
fn slowest_per_s(epoch: &MeasuredEpoch) -> f64 {
    let counts = epoch.raw.counts();
    let rates = Side::BOTH.into_iter();
    let rates = rates.map(|side| mean(&counts.slices_of(side).map(rate_per_s).collect::<Vec<_>>()));
    rates.fold(f64::INFINITY, f64::min)
}

/// Returns the longer of the p99 latencies of an epoch's two sides.
fn p99(epoch: &MeasuredEpoch) -> Duration {
    let p99 = epoch.samples.iter();
    let p99 = p99.filter_map(|samples| quantile_of(&[samples], Quantile::P99));
    let p99 = p99.max();
    p99.map_or(Duration::ZERO, |ns| Duration::from_nanos(u64::from(ns)))
}
