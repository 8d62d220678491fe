//! The client threads of an epoch: how many, with which connections, started from where, and taken back.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use super::source::Source;
use super::{EpochOrder, EpochRunner};
use crate::connect::{Origin, Origins};
use crate::cores::CoreMap;
use crate::error::BenchError;
use crate::load::{
    AnswerLimits, ClientThread, Failure, LeaveOnDrop, Load, SliceBarrier, ThreadBuffers,
};
use crate::plan::{ClientModel, Pacing, Placement};

/// Latencies per second that all client threads together may have: sizes their buffers.
const MOST_REQUESTS_PER_S: f64 = 2_000_000.0;

/// Room for requests beyond the expected number, whose gaps are random.
const LAGS_SPARE: usize = 1_000;

/// What a client thread leaves: its memory, and whether it could be pinned.
type Left = (ThreadBuffers, io::Result<()>);

impl EpochRunner<'_> {
    /// Starts the client threads, lets `conduct` command them, and gives their memory back.
    pub(super) fn drive<T>(
        &self,
        threads: Vec<ClientThread>,
        map: &CoreMap,
        load: &Load,
        conduct: impl FnOnce(&SliceBarrier, &Self) -> Result<T, Failure>,
    ) -> Result<(Result<T, Failure>, Vec<ThreadBuffers>), BenchError> {
        let failed = |action| move |source| BenchError::Machine { action, source };
        let sockets = threads.iter().flat_map(ClientThread::sockets).collect();
        let barrier = Arc::new(SliceBarrier::new(
            threads.len(),
            sockets,
            self.plan.io_limit,
        ));
        let leave = LeaveOnDrop(&barrier);
        let cores: Arc<[usize]> = self.cores.into();
        let start = |thread: ClientThread| {
            let (barrier, load, cores) = (Arc::clone(&barrier), *load, Arc::clone(&cores));
            let core = map.client[thread.idx];
            let origin = thread.origin.clone();
            start_from(origin.as_deref(), move || {
                thread.run(&barrier, &load, core, &cores)
            })
        };
        let running = threads.into_iter().map(start);
        let running = running
            .collect::<io::Result<Vec<_>>>()
            .map_err(failed("start a client thread"))?;
        let conducted = conduct(&barrier, self);
        drop(leave);
        let ended: Vec<Left> = running
            .into_iter()
            .map(|handle| {
                handle
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect();
        let mut buffers = Vec::with_capacity(ended.len());
        for (thread, pinned) in ended {
            pinned.map_err(failed("pin a client thread"))?;
            buffers.push(thread);
        }
        Ok((conducted, buffers))
    }

    /// A thread per connection, or for the event client one per core (`free`, too). Where only one
    /// side is an event client, the other's need of threads decides: both sides have the same ones.
    pub(super) fn n_threads(&self, contrast_idx: usize) -> usize {
        let is_event = self.plan.contrasts[contrast_idx]
            .sides
            .iter()
            .all(|side| side.client == ClientModel::Event);
        // A single server thread and its clients share one core under `same`: one loop has it all.
        let is_one_core =
            self.plan.placement == Placement::Same && self.plan.server_threads.are_one();
        match (is_event, is_one_core) {
            (true, true) => 1,
            (true, false) => self.cores.len().min(self.plan.connections),
            (false, _) => self.plan.connections,
        }
    }

    /// Threads with their connections: `n_threads` that serve both sides, or as many for each, the
    /// baseline's first.
    pub(super) fn threads(
        &mut self,
        source: Source,
        n_threads: usize,
        order: &EpochOrder,
        load: &Load,
        origins: &Origins,
    ) -> Vec<ClientThread> {
        let limits = AnswerLimits {
            least_data_bytes: self.plan.least_data_bytes,
            io: self.plan.io_limit,
        };
        let shape = order.shape;
        let n_buckets = shape.bucket.map_or(0, |width| {
            shape.slice.div_duration_f64(width).ceil() as usize
        });
        let seconds = shape.slice.as_secs_f64() * order.n_slices as f64 / 2.0;
        let n_samples = (seconds * MOST_REQUESTS_PER_S / n_threads.div_ceil(2) as f64) as usize;
        let n_connections = self.plan.connections.div_ceil(n_threads);
        // Guards have requests too, at most as many again.
        let n_lags = match self.plan.pacing {
            Pacing::Open(open) => {
                (2.0 * seconds * open.rate_per_s / n_threads as f64) as usize + LAGS_SPARE
            }
            Pacing::Closed { .. } => 0,
        };
        let has_origin = origins.iter().any(Option::is_some);
        let n_all = if has_origin { 2 * n_threads } else { n_threads };
        // Memory that this epoch does not need is kept for the next.
        let n_there = self.buffers.len().max(n_all);
        self.buffers.resize_with(n_there, ThreadBuffers::default);
        let thread = |(place, mut buffers): (usize, ThreadBuffers)| {
            buffers.prepare(order.n_slices, n_buckets, n_connections, n_samples, n_lags);
            ClientThread {
                connections: [Vec::new(), Vec::new()],
                one_shot_clients: [None, None],
                idx: place % n_threads,
                n_threads,
                origin: origins[place / n_threads].clone(),
                buffers,
            }
        };
        let buffers = self.buffers.drain(..n_all).enumerate();
        let mut threads: Vec<ClientThread> = buffers.map(thread).collect();
        source.deal(&mut threads, n_threads, limits, load);
        threads
    }
}

/// Starts a thread from the origin's, or from this one.
fn start_from(
    origin: Option<&dyn Origin>,
    life: impl FnOnce() -> Left + Send + 'static,
) -> io::Result<JoinHandle<Left>> {
    let Some(origin) = origin else {
        return thread::Builder::new().spawn(life);
    };
    let (tell, hear) = mpsc::channel();
    origin.run(Box::new(move || {
        // Nobody hears only where the coordinator is gone.
        let _ = tell.send(thread::Builder::new().spawn(life));
    }));
    hear.recv()
        .unwrap_or_else(|_| Err(io::ErrorKind::NotConnected.into()))
}
