//! Puts together what the coordinator and the client threads each saw of an epoch.

use std::time::Duration;

use looptax_stats::Side;

use super::{EpochData, SliceData};
use crate::cores::CoreMap;
use crate::load::{SliceSpec, Store, Tally};
use crate::machine::MachineDelta;
use crate::server_cpu::ServerReading;

/// What the coordinator saw of an epoch, before the client threads' counts are added.
pub(super) struct Conducted {
    pub(super) prime_ns: u64,
    pub(super) slices: Vec<ConductedSlice>,
    pub(super) machine: MachineDelta,
    pub(super) own_cpu_ns: Option<u64>,
    pub(super) guard: Duration,
    pub(super) n_primed: u64,
    pub(super) are_comparable: bool,
    pub(super) is_flat_out: bool,
    /// Whether each slice was one whole request.
    pub(super) is_whole: bool,
}

/// One slice as the coordinator saw it.
pub(super) struct ConductedSlice {
    pub(super) spec: SliceSpec,
    pub(super) start_ns: u64,
    pub(super) spent: ServerReading,
    pub(super) client_user_ns: u64,
    /// CPU of a process that helps this side's client.
    pub(super) helper_cpu_ns: u64,
}

impl Conducted {
    /// Adds the client threads' counts.
    pub(super) fn finish(self, stores: &[Store], cores: CoreMap, reconnect_ns: u64) -> EpochData {
        let guard_ns = self.guard.as_nanos() as u64;
        let slices = self
            .slices
            .iter()
            .enumerate()
            .map(|(idx, slice)| {
                let median_ns =
                    (!self.is_flat_out).then(|| median_ns(slice, idx, &self.slices, stores));
                let data = slice_data(slice, idx, stores, guard_ns, median_ns.flatten());
                if self.is_whole { whole(data) } else { data }
            })
            .collect::<Vec<_>>();
        let answers_agree = answers_agree(&self.slices, stores)
            && (!self.is_whole || slices.windows(2).all(are_as_long));
        EpochData {
            reconnect_ns,
            prime_ns: self.prime_ns,
            cores,
            slices,
            // In room that just fits: it is kept until the run is over.
            samples: [0, 1].map(|side| {
                let parts: Vec<&[u32]> = stores.iter().map(|it| &it.samples[side][..]).collect();
                parts.concat()
            }),
            lag_p99_ns: [0, 1].map(|side| p99(stores.iter().flat_map(|store| &store.lags[side]))),
            machine: self.machine,
            own_cpu_ns: self.own_cpu_ns,
            n_primed: self.n_primed,
            answers_agree: !self.are_comparable || answers_agree,
        }
    }
}

fn slice_data(
    slice: &ConductedSlice,
    idx: usize,
    stores: &[Store],
    guard_ns: u64,
    median_ns: Option<u32>,
) -> SliceData {
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
        received_bytes: total.received_bytes,
        client_cpu_ns: total.cpu_ns + slice.helper_cpu_ns,
        client_user_ns: slice.client_user_ns,
        client_voluntary: total.voluntary,
        client_involuntary: total.involuntary,
        server_cpu_ns: slice.spent.cpu_ns,
        server_switches: slice.spent.switches,
        injected_ns: total.injected_ns,
        buckets: total.buckets,
        checksum,
        n_unsampled: total.n_unsampled,
        median_ns,
        n_queued: total.n_queued,
        n_unsent: total.n_unsent,
        behind_ns: total.behind_ns,
    }
}

/// A slice that is one request: as long as its answer took, and nothing of it beyond its end.
fn whole(slice: SliceData) -> SliceData {
    SliceData {
        active_ns: slice.latency_sum_ns,
        drain_ns: 0,
        // One number per request stands in the slice itself.
        n_unsampled: 0,
        ..slice
    }
}

/// Whether two whole requests brought equally many bytes.
fn are_as_long(pair: &[SliceData]) -> bool {
    pair[0].received_bytes == pair[1].received_bytes
}

/// The median latency of a slice over all threads, by nearest rank; `None` without answers.
fn median_ns(
    slice: &ConductedSlice,
    idx: usize,
    slices: &[ConductedSlice],
    stores: &[Store],
) -> Option<u32> {
    let side = slice.spec.side;
    let next = (idx + 1..slices.len()).find(|next| slices[*next].spec.side == side);
    let mut latencies: Vec<u32> = Vec::new();
    for store in stores {
        let samples = &store.samples[side.idx()];
        let end = next.map_or(samples.len(), |next| store.tallies[next].first_sample);
        let of_slice = samples.get(store.tallies[idx].first_sample..end);
        latencies.extend_from_slice(of_slice.unwrap_or_default());
    }
    nearest_rank(&mut latencies, 0.5)
}

/// The 99th percentile by nearest rank; `None` of nothing.
fn p99<'a>(values: impl Iterator<Item = &'a u32>) -> Option<u32> {
    nearest_rank(&mut values.copied().collect::<Vec<_>>(), 0.99)
}

fn nearest_rank(values: &mut [u32], quantile: f64) -> Option<u32> {
    let rank = (quantile * values.len() as f64).ceil() as usize;
    let idx = rank.checked_sub(1)?;
    Some(*values.select_nth_unstable(idx).1)
}

/// Slices of equal rank asked for the same keys: their answers' common prefixes must be equal.
fn answers_agree<'a>(slices: &[ConductedSlice], stores: &'a [Store]) -> bool {
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
                // Each side may have threads of its own: connection by connection, in the same order.
                (Some(one), Some(two)) => {
                    let digests_of = |idx: usize| {
                        let of_store = move |store: &'a Store| store.digests[idx].iter();
                        stores.iter().flat_map(of_store)
                    };
                    digests_of(one)
                        .zip(digests_of(two))
                        .all(|(one, two)| one.agrees_with(two))
                }
                _ => true,
            }
        })
}
