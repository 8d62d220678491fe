//! A client thread: waits at the slice barrier, runs slices on its connections, keeps its own counts.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use looptax_model::stats::Side;
use rustix::thread::{gettid, set_current_timer_slack};

use super::connection::Connection;
use super::event;
use super::failure::Failure;
use super::one_shot;
use super::open::{Kept, Queues, open_loop};
use super::slice_barrier::{Command, SliceBarrier, SliceSpec};
use super::tally::{Digests, Tally};
use super::wait::{Block, Poll, PollFirst, Wait};
use crate::arrivals::Schedule;
use crate::clock::{busy_wait, now_ns, thread_cpu_ns};
use crate::connect::{OneShotClient, Origin};
use crate::cores::pin_self;
use crate::error::{LoadError, Stage};
use crate::keys::{KeyRange, Keys, SliceOf};
use crate::plan::{ClientModel, KeySpace, OpenLoop, Pacing, SidePlan};
use crate::sys::thread_usage;

/// The settings that all client threads of an epoch share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) sides: [SidePlan; 2],
    /// The run's seed, from which the keys are drawn.
    pub(crate) seed: u64,
    /// The epoch's number; the keys depend on it, too.
    pub(crate) epoch: u64,
    /// Index of the pair of arms.
    pub(crate) contrast: u64,
    pub(crate) pacing: Pacing,
    pub(crate) keys: KeySpace,
    /// Number of connections per side.
    pub(crate) n_connections: usize,
    pub(crate) bucket: Option<Duration>,
    /// Whether a slice consists of one whole request. The whole time of the slice then counts, and the connection sends
    /// no other request.
    pub(crate) is_whole: bool,
}

impl Load {
    /// Returns the random numbers of a connection in a slice.
    pub(crate) fn keys(&self, connection_idx: usize, side: Side, rank: u64) -> Keys {
        let slice = SliceOf { epoch: self.epoch, contrast: self.contrast, side, rank };
        let range = KeyRange::for_connection(self.keys, connection_idx, self.n_connections);
        let distribution = self.keys.distribution;
        Keys::new(self.seed, slice, connection_idx as u64, range, distribution)
    }
}

/// The memory of a client thread. It is sized before each epoch, and kept for the next epoch.
#[derive(Default)]
pub(crate) struct ThreadBuffers {
    /// One tally per slice, in chronological order.
    pub(crate) tallies: Vec<Tally>,
    /// Latencies of the counted answers, by side.
    pub(crate) samples: [Vec<u32>; 2],
    /// How late each request of an open loop was sent, by side.
    pub(crate) lags: [Vec<u32>; 2],
    queues: Queues,
    rooms: [Vec<u8>; 2],
    /// Digests of answers, by slice, then by connection of this thread.
    pub(crate) digests: Vec<Vec<Digests>>,
}

impl ThreadBuffers {
    /// Makes room for an epoch and reuses the memory of earlier epochs.
    pub(crate) fn prepare(
        &mut self,
        n_slices: usize,
        n_buckets: usize,
        n_connections: usize,
        n_samples: usize,
        n_lags: usize,
    ) {
        self.tallies.clear();
        self.tallies.resize_with(n_slices, || Tally::with_room(n_buckets, n_connections));
        self.digests.clear();
        self.digests.resize_with(n_slices, || Vec::with_capacity(n_connections));
        for samples in &mut self.samples {
            samples.clear();
            samples.reserve(n_samples);
        }
        for lags in &mut self.lags {
            lags.clear();
            lags.reserve(n_lags);
        }
    }
}

/// One client thread, with its connections or one-shot clients for both sides.
pub(crate) struct ClientThread {
    /// Connections, by side. Connection `i` of this thread has the number `idx + i * n_threads` in the epoch.
    pub(crate) connections: [Vec<Connection>; 2],
    /// By side: the one-shot client that the thread runs instead of driving connections.
    pub(crate) one_shot_clients: [Option<Box<dyn OneShotClient>>; 2],
    /// Number of the thread's first connection.
    pub(crate) idx: usize,
    /// Number of client threads that serve a side.
    pub(crate) n_threads: usize,
    /// The origin from which the thread is started, if not from the coordinator.
    pub(crate) origin: Option<Arc<dyn Origin>>,
    pub(crate) buffers: ThreadBuffers,
}

impl ClientThread {
    pub(crate) fn sockets(&self) -> impl Iterator<Item = Arc<OwnedFd>> {
        self.connections.iter().flatten().map(Connection::shared_fd)
    }

    /// Executes the coordinator's commands until [`Command::Leave`], then returns the thread's buffers.
    pub(crate) fn run(
        mut self,
        barrier: &SliceBarrier,
        place: usize,
        load: &Load,
        core: Option<usize>,
        cores: &[usize],
    ) -> (ThreadBuffers, io::Result<()>) {
        let pinned = pin_self(core, cores);
        barrier.enter(place, gettid().as_raw_nonzero().get().cast_unsigned());
        if !load.pacing.is_flat_out() {
            // With this setting, a sleep ends on time, and not up to 50 µs late. If the call fails, requests are sent
            // later, and the delay is recorded. Nothing else changes.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
        }
        let mut seen = 0;
        let mut slice_idx = 0;
        loop {
            match barrier.next(&mut seen) {
                Command::Prime { side, n_requests } => {
                    barrier.done(caught(side, Stage::Priming, || self.prime(side, n_requests, load)));
                }
                Command::Slice(spec) => {
                    barrier.done(caught(spec.side, Stage::Slice, || self.slice(spec, slice_idx, load)));
                    slice_idx += 1;
                }
                Command::Leave => return (self.buffers, pinned),
            }
        }
    }

    fn prime(&mut self, side: Side, n_requests: u64, load: &Load) -> Result<(), Failure> {
        let mut tally = Tally::default();
        let fail = |source| Failure { side, stage: Stage::Priming, source };
        if let Some(client) = &mut self.one_shot_clients[side.idx()] {
            let mut keys = load.keys(self.idx, side, u64::MAX);
            for _ in 0..n_requests {
                one_shot::once(&mut **client, &mut keys, &mut tally).map_err(fail)?;
            }
        }
        let room = &mut self.buffers.rooms[side.idx()];
        for (idx, connection) in self.connections[side.idx()].iter_mut().enumerate() {
            let connection_idx = self.idx + idx * self.n_threads;
            connection.begin(load.keys(connection_idx, side, u64::MAX));
            for _ in 0..n_requests {
                connection.prepare();
                connection.send(&mut tally).map_err(fail)?;
                Poll::answer(connection, room, &mut tally).map_err(fail)?;
            }
        }
        Ok(())
    }

    /// Returns whether the thread has anything to do for a side.
    fn serves(&self, side: Side) -> bool {
        !self.connections[side.idx()].is_empty() || self.one_shot_clients[side.idx()].is_some()
    }

    fn slice(&mut self, spec: SliceSpec, slice_idx: usize, load: &Load) -> Result<(), Failure> {
        if !self.serves(spec.side) {
            return Ok(());
        }
        let connections = &mut self.connections[spec.side.idx()];
        for (idx, connection) in connections.iter_mut().enumerate() {
            let connection_idx = self.idx + idx * self.n_threads;
            connection.begin(load.keys(connection_idx, spec.side, spec.rank));
            connection.is_first = !load.is_whole;
        }
        let tally = &mut self.buffers.tallies[slice_idx];
        if load.is_whole {
            tally.open(0, u64::MAX, None);
        } else {
            tally.open(spec.count_from_ns, spec.stop_at_ns, load.bucket);
        }
        tally.first_sample = self.buffers.samples[spec.side.idx()].len();

        let usage = thread_usage();
        let cpu_ns = thread_cpu_ns();
        let outcome = match load.pacing {
            Pacing::Closed { think } => self.closed(spec, slice_idx, load, think),
            Pacing::Open(open) => self.open(spec, slice_idx, load, open),
        };
        let connections = &mut self.connections[spec.side.idx()];
        let tally = &mut self.buffers.tallies[slice_idx];
        tally.cpu_ns = thread_cpu_ns() - cpu_ns;
        let after = thread_usage();
        tally.voluntary = after.voluntary - usage.voluntary;
        tally.involuntary = after.involuntary - usage.involuntary;

        self.buffers.digests[slice_idx].extend(connections.iter().map(Connection::digests));
        outcome.map_err(|source| {
            let stage = if now_ns() >= spec.stop_at_ns { Stage::Drain } else { Stage::Slice };
            Failure { side: spec.side, stage, source }
        })
    }
}

/// The two loops of a slice: closed and open.
impl ClientThread {
    fn closed(&mut self, spec: SliceSpec, slice_idx: usize, load: &Load, think: Duration) -> Result<(), LoadError> {
        let connections = &mut self.connections[spec.side.idx()];
        let tally = &mut self.buffers.tallies[slice_idx];
        let samples = &mut self.buffers.samples[spec.side.idx()];
        let room = &mut self.buffers.rooms[spec.side.idx()];
        let plan = load.sides[spec.side.idx()];
        if let Some(client) = &mut self.one_shot_clients[spec.side.idx()] {
            let mut keys = load.keys(self.idx, spec.side, spec.rank);
            return one_shot::closed_loop(&mut **client, &mut keys, spec, plan, tally, samples);
        }
        match plan.client {
            ClientModel::Poll => closed_loop::<Poll>(connections, spec, plan, think, room, tally, samples),
            ClientModel::PollFirst => closed_loop::<PollFirst>(connections, spec, plan, think, room, tally, samples),
            ClientModel::Block => closed_loop::<Block>(connections, spec, plan, think, room, tally, samples),
            ClientModel::Event => event::closed_loop(connections, spec, plan, room, tally, samples),
        }
    }

    fn open(&mut self, spec: SliceSpec, slice_idx: usize, load: &Load, open: OpenLoop) -> Result<(), LoadError> {
        let slice = SliceOf { epoch: load.epoch, contrast: load.contrast, side: spec.side, rank: spec.rank };
        let place = [self.idx, self.n_threads];
        let mut schedule = Schedule::new(open, load.seed, slice, place, now_ns());
        let ThreadBuffers { tallies, samples, lags, queues, rooms, .. } = &mut self.buffers;
        let mut kept = Kept {
            room: &mut rooms[spec.side.idx()],
            samples: &mut samples[spec.side.idx()],
            lags: &mut lags[spec.side.idx()],
        };
        open_loop(
            &mut self.connections[spec.side.idx()],
            spec,
            &mut schedule,
            open.may_spin,
            queues,
            &mut tallies[slice_idx],
            &mut kept,
        )
    }
}

/// Runs `part` and turns a panic in it into an ordinary failure, because the coordinator waits for every thread.
fn caught(side: Side, stage: Stage, part: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(part)).unwrap_or(Err(Failure { side, stage, source: LoadError::Panicked }))
}

/// Runs the measured loop of the models with a thread per connection.
///
/// A request begins when the previous answer has arrived, so the time to make the request is part of its latency, as in
/// a real client. After a pause, a request begins when the pause is over.
///
/// # Cost
/// Per request: the model's system calls and one reading of the clock; no allocation.
fn closed_loop<W: Wait>(
    connections: &mut [Connection],
    spec: SliceSpec,
    plan: SidePlan,
    think: Duration,
    room: &mut Vec<u8>,
    tally: &mut Tally,
    samples: &mut Vec<u32>,
) -> Result<(), LoadError> {
    let Some(connection) = connections.first_mut() else {
        return Ok(());
    };
    let mut begun_ns = now_ns();
    loop {
        if let Some(inject_ns) = plan.inject_ns {
            tally.injected_ns += busy_wait(inject_ns);
            begun_ns = now_ns();
        }
        connection.prepare();
        connection.send(tally)?;
        W::answer(connection, room, tally)?;
        let answered_ns = now_ns();
        tally.record(begun_ns, answered_ns, connection.is_first, samples);
        connection.is_first = false;
        begun_ns = answered_ns;
        if !think.is_zero() && answered_ns < spec.stop_at_ns {
            thread::sleep(think);
            begun_ns = now_ns();
        }
        if begun_ns >= spec.stop_at_ns {
            return Ok(());
        }
    }
}
