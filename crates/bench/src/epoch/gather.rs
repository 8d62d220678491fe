//! Puts together what the coordinator and the client threads each saw of an epoch.

use looptax_model::record::{Epoch, Hex64, Slice};
use looptax_model::stats::{Quantile, Side, nearest_rank};

use super::MeasuredEpoch;
use crate::load::{SliceSpec, Tally, ThreadBuffers};
use crate::plan::Plan;

/// What the coordinator saw of an epoch, before the client threads' counts are added.
pub(super) struct Conducted {
    /// What each slice was to be, in the order of time.
    pub(super) specs: Vec<SliceSpec>,
    /// Times, machine and CPU of the epoch and its slices.
    pub(super) raw: Epoch,
    pub(super) n_primed: u64,
}

impl Conducted {
    /// Adds the client threads' counts; `is_whole` where each slice was one whole request.
    pub(super) fn finish(
        self,
        buffers: &[ThreadBuffers],
        plan: &Plan,
        is_whole: bool,
    ) -> MeasuredEpoch {
        let Self {
            specs,
            mut raw,
            n_primed,
        } = self;
        for (idx, slice) in raw.slices.iter_mut().enumerate() {
            add_counts(slice, specs[idx], idx, buffers);
            if !plan.pacing.is_flat_out() {
                slice.median_ns = median_ns(&specs, idx, buffers);
            }
            if is_whole {
                end_with_answer(slice);
            }
        }
        let do_answers_agree =
            answers_agree(&specs, buffers) && (!is_whole || raw.slices.windows(2).all(are_as_long));
        raw.answers_agree = !plan.are_comparable || do_answers_agree;
        raw.lag_p99_ns = [0, 1].map(|side| {
            let mut lags: Vec<u32> = buffers
                .iter()
                .flat_map(|thread| &thread.lags[side])
                .copied()
                .collect();
            nearest_rank(&mut lags, Quantile::P99)
        });
        MeasuredEpoch {
            raw,
            // In room that just fits: it is kept until the run is over.
            samples: [0, 1].map(|side| {
                let parts: Vec<&[u32]> = buffers
                    .iter()
                    .map(|thread| &thread.samples[side][..])
                    .collect();
                parts.concat()
            }),
            n_primed,
            comparison_start_ns: 0,
        }
    }
}

/// Adds what all client threads counted in the slice of index `idx`.
fn add_counts(slice: &mut Slice, spec: SliceSpec, idx: usize, buffers: &[ThreadBuffers]) {
    let mut total = Tally::default();
    let mut checksum = 0_u64;
    for thread in buffers {
        total.merge(&thread.tallies[idx]);
        for digests in &thread.digests[idx] {
            checksum = checksum.rotate_left(7) ^ digests.last();
        }
    }
    slice.drain_ns = total.last_answer_ns.saturating_sub(spec.stop_at_ns);
    slice.completions = total.completions;
    slice.early = total.early;
    slice.drained = total.drained;
    slice.drained_ns = total.drained_ns;
    slice.requests = total.requests;
    slice.latency_sum_ns = total.latency_sum_ns;
    slice.n_unsampled = total.n_unsampled;
    slice.queued = total.n_queued;
    slice.unsent = total.n_unsent;
    slice.behind_ns = total.behind_ns;
    slice.completions_per_100ms = total.buckets;
    slice.sends = total.sends;
    slice.receives = total.receives;
    slice.waits = total.waits;
    // Nobody counts the bytes of one-shot connections.
    slice.received_bytes = (total.received_bytes > 0).then_some(total.received_bytes);
    slice.injected_ns = total.injected_ns;
    // A helper's CPU is there already.
    slice.client_cpu_ns = Some(slice.client_cpu_ns.unwrap_or(0) + total.cpu_ns);
    slice.client_voluntary_switches = Some(total.voluntary);
    slice.client_involuntary_switches = Some(total.involuntary);
    slice.checksum = Some(Hex64(checksum));
}

/// Makes a slice that is one request as long as its answer took, with nothing of it beyond its end.
fn end_with_answer(slice: &mut Slice) {
    slice.active_ns = slice.latency_sum_ns;
    slice.drain_ns = 0;
    // One number per request stands in the slice itself.
    slice.n_unsampled = 0;
}

/// Whether two whole requests brought equally many bytes.
fn are_as_long(pair: &[Slice]) -> bool {
    pair[0].received_bytes == pair[1].received_bytes
}

/// The median latency of a slice over all threads, by nearest rank; `None` without answers.
fn median_ns(specs: &[SliceSpec], idx: usize, buffers: &[ThreadBuffers]) -> Option<u32> {
    let side = specs[idx].side;
    let next = (idx + 1..specs.len()).find(|next| specs[*next].side == side);
    let mut latencies: Vec<u32> = Vec::new();
    for thread in buffers {
        let samples = &thread.samples[side.idx()];
        let end = next.map_or(samples.len(), |next| thread.tallies[next].first_sample);
        let of_slice = samples.get(thread.tallies[idx].first_sample..end);
        latencies.extend_from_slice(of_slice.unwrap_or_default());
    }
    nearest_rank(&mut latencies, Quantile::P50)
}

/// Slices of equal rank asked for the same keys: their answers' common prefixes must be equal.
fn answers_agree<'a>(specs: &[SliceSpec], buffers: &'a [ThreadBuffers]) -> bool {
    let idx_of = |side: Side, rank: u64| {
        specs
            .iter()
            .position(|spec| spec.side == side && spec.rank == rank)
    };
    specs
        .iter()
        .filter(|spec| spec.side == Side::Baseline)
        .all(|spec| {
            let rank = spec.rank;
            match (idx_of(Side::Baseline, rank), idx_of(Side::Other, rank)) {
                // Each side may have threads of its own: connection by connection, in the same order.
                (Some(one), Some(two)) => {
                    let digests_of = |idx: usize| {
                        let of_thread = move |thread: &'a ThreadBuffers| thread.digests[idx].iter();
                        buffers.iter().flat_map(of_thread)
                    };
                    digests_of(one)
                        .zip(digests_of(two))
                        .all(|(one, two)| one.agrees_with(two))
                }
                _ => true,
            }
        })
}
