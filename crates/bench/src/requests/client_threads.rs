//! The client threads of an epoch before they run: their number, their connections and their memory.

use super::Requests;
use super::connections::Connections;
use crate::connect::Origins;
use crate::load::{AnswerLimits, ClientThread, Load, ThreadBuffers};
use crate::plan::{ClientModel, Pacing, Placement};
use crate::slices::EpochOrder;

/// The highest number of latencies per second that all client threads together can record. Determines the size of their
/// buffers.
const MOST_REQUESTS_PER_S: f64 = 2_000_000.0;

/// Number of spare entries beyond the expected number of requests, because the gaps between requests are random.
const LAGS_SPARE: usize = 1_000;

impl Requests<'_> {
    /// Returns the number of client threads. If both sides are event clients, there is one thread per core, also under
    /// `free`. Otherwise there is one thread per connection.
    pub(super) fn n_threads(&self, contrast_idx: usize) -> usize {
        let is_event = self.plan.contrasts[contrast_idx].sides.iter().all(|side| side.client == ClientModel::Event);
        // Under `same`, a single server thread and its clients share one core, so one event loop has all connections.
        let is_one_core = self.plan.placement == Placement::Same && self.plan.server_threads.are_one();
        match (is_event, is_one_core) {
            (true, true) => 1,
            (true, false) => self.cores.len().min(self.plan.course.connections),
            (false, _) => self.plan.course.connections,
        }
    }

    /// Returns the threads with their connections. Without origins there are `n_threads` threads that serve both sides.
    /// With origins there are `n_threads` threads for each side; the threads of the baseline are first.
    pub(super) fn threads(
        &mut self,
        connections: Connections,
        n_threads: usize,
        order: &EpochOrder,
        load: &Load,
        origins: &Origins,
    ) -> Vec<ClientThread> {
        let limits = AnswerLimits { least_data_bytes: self.plan.least_data_bytes, io: self.plan.io_limit };
        let shape = order.shape;
        let n_buckets = shape.bucket.map_or(0, |width| shape.slice.div_duration_f64(width).ceil() as usize);
        let seconds = shape.slice.as_secs_f64() * order.n_slices as f64 / 2.0;
        let n_samples = (seconds * MOST_REQUESTS_PER_S / n_threads.div_ceil(2) as f64) as usize;
        let n_connections = self.plan.course.connections.div_ceil(n_threads);
        // Requests in guards are recorded, too. Their number is at most the number of counted requests.
        let n_lags = match self.plan.pacing {
            Pacing::Open(open) => (2.0 * seconds * open.rate_per_s / n_threads as f64) as usize + LAGS_SPARE,
            Pacing::Closed { .. } => 0,
        };
        let has_origin = origins.iter().any(Option::is_some);
        let n_all = if has_origin { 2 * n_threads } else { n_threads };
        // Memory that this epoch does not need is kept for later epochs.
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
        connections.deal(&mut threads, n_threads, limits, load);
        threads
    }
}
