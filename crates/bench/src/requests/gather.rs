//! Combines the data of an epoch that the coordinator and the client threads each collected.

use looptax_model::record::{Hex64, Slice};
use looptax_model::stats::{Quantile, Side, nearest_rank};

use super::Running;
use crate::load::{SliceSpec, ThreadBuffers};
use crate::plan::Plan;
use crate::slices::MeasuredEpoch;

impl Running {
    /// Adds the client threads' counts to the coordinator's data.
    pub(super) fn add_counts(&self, measured: &mut MeasuredEpoch, buffers: &[ThreadBuffers], plan: &Plan) {
        let (raw, specs) = (&mut measured.raw, &self.specs);
        let is_whole = self.shape.is_whole();
        for (idx, slice) in raw.slices.iter_mut().enumerate() {
            slice.client_cpu_ns = Some(self.helper_cpu_ns[idx]);
            let mut checksum = 0_u64;
            for thread in buffers {
                thread.tallies[idx].add_to(slice, specs[idx].stop_at_ns);
                for digests in &thread.digests[idx] {
                    checksum = checksum.rotate_left(7) ^ digests.last();
                }
            }
            slice.checksum = Some(Hex64(checksum));
            if !plan.pacing.is_flat_out() {
                slice.median_ns = median_ns(specs, idx, buffers);
            }
            if is_whole {
                end_with_answer(slice);
            }
        }
        let do_answers_agree = answers_agree(specs, buffers) && (!is_whole || raw.slices.windows(2).all(are_as_long));
        raw.answers_agree = !plan.are_comparable || do_answers_agree;
        raw.lag_p99_ns = [0, 1].map(|side| {
            let mut lags: Vec<u32> = buffers.iter().flat_map(|thread| &thread.lags[side]).copied().collect();
            nearest_rank(&mut lags, Quantile::P99)
        });
        raw.reconnect_us = self.reconnect_ns / 1000;
        raw.prime_us = self.prime_ns / 1000;
        [raw.client_cores, raw.server_cores] = self.map.by_connection();
        raw.follows = self.ends.follows();
        measured.n_primed = self.n_primed;
        // The samples are copied into vectors of exactly the right size, because the samples stay in memory until the
        // run is over.
        let raw = &measured.raw;
        let counts = |idx: &usize| raw.is_in_place(&raw.slices[*idx]);
        let of_side = |side: usize| (0..specs.len()).filter(move |idx| specs[*idx].side.idx() == side).filter(counts);
        measured.samples = [0, 1].map(|side| {
            let parts: Vec<&[u32]> = of_side(side)
                .flat_map(|idx| buffers.iter().map(move |thread| samples_of(specs, idx, thread)))
                .collect();
            parts.concat()
        });
    }
}

/// Makes a slice with a single whole request end together with the answer, so that the slice has no time for draining.
fn end_with_answer(slice: &mut Slice) {
    slice.active_ns = slice.latency_sum_ns;
    slice.drain_ns = 0;
    // The latency of the only request is in the slice itself.
    slice.n_unsampled = 0;
}

/// Returns whether two whole requests received the same number of bytes.
fn are_as_long(pair: &[Slice]) -> bool {
    pair[0].received_bytes == pair[1].received_bytes
}

/// Returns the median latency of a slice over all threads, by nearest rank; `None` if there are no answers.
fn median_ns(specs: &[SliceSpec], idx: usize, buffers: &[ThreadBuffers]) -> Option<u32> {
    let mut latencies = buffers.iter().map(|thread| samples_of(specs, idx, thread)).collect::<Vec<_>>().concat();
    nearest_rank(&mut latencies, Quantile::P50)
}

/// Returns a thread's latencies of one slice.
fn samples_of<'a>(specs: &[SliceSpec], idx: usize, thread: &'a ThreadBuffers) -> &'a [u32] {
    let side = specs[idx].side;
    let next = (idx + 1..specs.len()).find(|next| specs[*next].side == side);
    let samples = &thread.samples[side.idx()];
    let end = next.map_or(samples.len(), |next| thread.tallies[next].first_sample);
    samples.get(thread.tallies[idx].first_sample..end).unwrap_or_default()
}

/// Returns whether the answers of the n-th slices of both sides agree, for each n. Both slices requested the same keys,
/// so the common prefix of their answers must be equal.
fn answers_agree<'a>(specs: &[SliceSpec], buffers: &'a [ThreadBuffers]) -> bool {
    let idx_of = |side: Side, rank: u64| specs.iter().position(|spec| spec.side == side && spec.rank == rank);
    specs.iter().filter(|spec| spec.side == Side::Baseline).all(|spec| {
        let rank = spec.rank;
        match (idx_of(Side::Baseline, rank), idx_of(Side::Other, rank)) {
            // The connections are compared one by one, in the same order on both sides, even if each side has separate
            // threads.
            (Some(one), Some(two)) => {
                let digests_of = |idx: usize| {
                    let of_thread = move |thread: &'a ThreadBuffers| thread.digests[idx].iter();
                    buffers.iter().flat_map(of_thread)
                };
                digests_of(one).zip(digests_of(two)).all(|(one, two)| one.agrees_with(two))
            }
            _ => true,
        }
    })
}
