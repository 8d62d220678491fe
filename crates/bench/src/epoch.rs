//! One epoch: fresh connections, priming, then slices of one side after the other.
//!
//! The coordinator's part: it opens, pins, primes and conducts, and sleeps while a slice runs.

mod data;
mod gather;
mod source;
mod workers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use looptax_model::record;
use looptax_model::stats::Side;

use crate::clock::now_ns;
use crate::connect::{ConnectError, Connector, Helper};
use crate::cores::{CoreMap, pin_process};
use crate::error::{BenchError, side_name};
use crate::load::{Command, Failure, Load, SliceBarrier, SliceSpec, ThreadBuffers};
use crate::machine::Snapshot;
use crate::plan::Plan;
use crate::schedule::{EpochDraw, opposite};
use crate::server_cpu::ServerMeter;
use crate::shape::Shape;
use crate::sys::{process_cpu_ns, process_user_ns};
pub use data::MeasuredEpoch;
pub(crate) use data::raw_epoch;
use gather::Conducted;
use source::Source;

/// What one epoch needs to know; lives as long as the run.
pub(crate) struct EpochRunner<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) cores: &'a [usize],
    pub(crate) stop: &'a AtomicBool,
    pub(crate) run_start_ns: u64,
    /// Client threads' memory, handed from epoch to epoch.
    pub(crate) buffers: Vec<ThreadBuffers>,
}

/// Which epoch to run.
pub(crate) struct EpochOrder {
    pub(crate) contrast_idx: usize,
    pub(crate) epoch: u64,
    pub(crate) shape: Shape,
    pub(crate) n_slices: usize,
}

impl EpochRunner<'_> {
    /// Runs one epoch; `None` when told to stop in the middle of it, which may have made it fail.
    pub(crate) fn run(
        &mut self,
        order: &EpochOrder,
        connector: &mut dyn Connector,
    ) -> Result<Option<MeasuredEpoch>, BenchError> {
        match self.measure(order, connector) {
            Err(_) if self.stop.load(Ordering::Relaxed) => Ok(None),
            measured => measured,
        }
    }

    fn measure(
        &mut self,
        order: &EpochOrder,
        connector: &mut dyn Connector,
    ) -> Result<Option<MeasuredEpoch>, BenchError> {
        let plan = self.plan;
        let contrast = &plan.contrasts[order.contrast_idx];
        let draw = EpochDraw::new(
            plan.seed,
            order.contrast_idx,
            order.epoch,
            order.shape.jitter,
        );
        let origins = connector.origins(order.contrast_idx);
        let start_ns = now_ns();
        let source = Source::open(connector, order.contrast_idx, &draw, plan.connections).map_err(
            |error| match error {
                ConnectError::Refused(failure) => BenchError::Refused(failure),
                ConnectError::Connection(source) => BenchError::Connect {
                    contrast: contrast.name.clone(),
                    source,
                },
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
        let helpers = connector.helpers(order.contrast_idx);
        source.pin(plan.server_threads, &cores, self.cores)?;
        pin_helpers(helpers, &cores, self.cores)?;
        let reconnect_ns = now_ns() - start_ns;
        let meters = source.meters(plan.server_threads);
        let n_priming = if order.shape.is_whole() {
            0
        } else {
            source.n_priming(plan.connections)
        };
        let load = Load {
            sides: contrast.sides,
            seed: plan.seed,
            epoch: order.epoch,
            contrast: order.contrast_idx as u64,
            pacing: plan.pacing,
            keys: plan.keys,
            n_connections: plan.connections,
            bucket: order.shape.bucket,
            is_whole: order.shape.is_whole(),
        };
        let helpers = helpers.map(|it| Some(it?.pid));
        let threads = self.threads(source, n_threads, order, &load, &origins);
        let (conducted, buffers) = self.drive(threads, &cores, &load, |barrier, runner| {
            runner.conduct(order, &draw, barrier, n_priming, &meters, helpers)
        })?;
        let conducted = conducted.map_err(|failure| BenchError::Request {
            contrast: contrast.name.clone(),
            side: side_name(failure.side),
            stage: failure.stage,
            source: failure.source,
        })?;
        let measured = conducted.map(|conducted| {
            let mut measured = conducted.finish(&buffers, plan, order.shape.is_whole());
            measured.raw.reconnect_us = reconnect_ns / 1000;
            measured.comparison_start_ns = self.run_start_ns;
            [measured.raw.client_cores, measured.raw.server_cores] = cores.by_connection();
            measured
        });
        self.buffers.splice(0..0, buffers);
        Ok(measured)
    }

    /// The coordinator's part: primes, waits, then runs one slice after the other.
    fn conduct(
        &self,
        order: &EpochOrder,
        draw: &EpochDraw,
        barrier: &SliceBarrier,
        n_requests: u64,
        meters: &[ServerMeter; 2],
        helpers: [Option<u32>; 2],
    ) -> Result<Option<Conducted>, Failure> {
        let prime_start_ns = now_ns();
        for side in [draw.first, opposite(draw.first)] {
            barrier.run(Command::Prime { side, n_requests }, self.stop)?;
        }
        let prime_ns = now_ns() - prime_start_ns;
        thread::sleep(draw.jitter);

        let own_start_ns = own_cpu_ns(helpers);
        let machine = Snapshot::read();
        let pair = self.plan.contrasts[order.contrast_idx].pair;
        let mut specs = Vec::with_capacity(order.n_slices);
        let mut slices = Vec::with_capacity(order.n_slices);
        let mut n_before = [0_u64; 2];
        for side in draw.order(order.n_slices) {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let meter = &meters[side.idx()];
            let before = meter.read();
            let helper_before_ns = helper_cpu_ns(helpers[side.idx()]);
            let user_before_ns = process_user_ns();
            let start_ns = now_ns();
            let spec = slice_spec(side, n_before[side.idx()], start_ns, order.shape);
            barrier.run(Command::Slice(spec), self.stop)?;
            // This thread sleeps meanwhile: the process's time is that of its client threads.
            let client_user_ns = process_user_ns().saturating_sub(user_before_ns);
            let helper_cpu_ns = helper_cpu_ns(helpers[side.idx()]).saturating_sub(helper_before_ns);
            let spent = meter.read().since(before);
            n_before[side.idx()] += 1;
            specs.push(spec);
            slices.push(record::Slice {
                arm_idx: pair[side.idx()],
                start_ns: start_ns - self.run_start_ns,
                guard_ns: spec.count_from_ns - start_ns,
                active_ns: spec.stop_at_ns - spec.count_from_ns,
                client_cpu_ns: Some(helper_cpu_ns),
                client_user_ns: Some(client_user_ns),
                server_cpu_ns: spent.cpu_ns,
                server_switches: spent.switches,
                ..record::Slice::default()
            });
        }
        let machine = Snapshot::read().since(machine);
        let own_cpu_ns = own_cpu_ns(helpers)
            .zip(own_start_ns)
            .map(|(now, then)| now - then);
        let sides = specs.iter().map(|spec| spec.side);
        let mut raw = raw_epoch(pair, sides, slices, machine, own_cpu_ns);
        raw.prime_us = prime_ns / 1000;
        Ok(Some(Conducted {
            specs,
            raw,
            n_primed: 2 * n_requests * self.plan.connections as u64,
        }))
    }
}

/// Puts helpers that sit with the server on its core, or on all of them where its threads have several.
fn pin_helpers(
    helpers: [Option<Helper>; 2],
    map: &CoreMap,
    cores: &[usize],
) -> Result<(), BenchError> {
    let first = map.server.first().copied().flatten();
    let core = first.filter(|first| map.server.iter().all(|it| *it == Some(*first)));
    let with_server = helpers
        .into_iter()
        .flatten()
        .filter(|it| it.sits_with_server);
    for helper in with_server {
        pin_process(helper.pid, core, cores).map_err(|source| BenchError::Machine {
            action: "pin a helper's threads",
            source,
        })?;
    }
    Ok(())
}

/// CPU of a process that helps one side's client; 0 where there is none.
fn helper_cpu_ns(pid: Option<u32>) -> u64 {
    pid.and_then(process_cpu_ns).unwrap_or(0)
}

/// CPU of this process and of those that help it, each once.
fn own_cpu_ns(helpers: [Option<u32>; 2]) -> Option<u64> {
    let [baseline, other] = helpers;
    let other = other.filter(|_| other != baseline);
    let helpers_ns = helper_cpu_ns(baseline) + helper_cpu_ns(other);
    process_cpu_ns(std::process::id()).map(|own_ns| own_ns + helpers_ns)
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
