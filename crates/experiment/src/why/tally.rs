//! Assigns the samples of a comparison to their epochs, arms and call chains.

use std::collections::HashMap;

use crate::observer::Doer;
use looptax_bench::MeasuredEpoch;
use looptax_model::record::{CountedEpoch, Epoch};
use looptax_model::stats::Side;

use crate::why::places::FrameId;

/// A call chain, with the role of its process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Chain {
    pub(crate) doer: Doer,
    /// The frames, with the leaf first.
    pub(crate) frames: Box<[FrameId]>,
}

/// CPU time of each chain, `[baseline, other]`; the key is the chain's index in [`Tally::chains`].
pub(crate) type Weights = HashMap<u32, [u64; 2]>;

/// An epoch during which the sampler was on.
pub(crate) struct Seen {
    /// Index of the epoch among all epochs of its contrast.
    pub(crate) idx: usize,
    pub(crate) weights: Weights,
    /// The epoch itself; `None` until it is over.
    pub(crate) raw: Option<Epoch>,
}

/// Everything that was observed during a comparison.
#[derive(Default)]
pub(crate) struct Tally {
    ids: HashMap<Chain, u32>,
    pub(crate) chains: Vec<Chain>,
    pub(crate) epochs: Vec<Vec<Seen>>,
    /// For each contrast, the warm-up epochs in which tracepoints were counted.
    pub(crate) counted: HashMap<usize, Vec<CountedEpoch>>,
    pub(crate) n_samples: u64,
    pub(crate) n_of_others: u64,
}

impl Tally {
    pub(crate) fn keep(&mut self, contrast_idx: usize, seen: Seen) {
        while self.epochs.len() <= contrast_idx {
            self.epochs.push(Vec::new());
        }
        self.epochs[contrast_idx].push(seen);
    }

    /// Returns the CPU time of each chain over all epochs and both arms, in the order of `chains`.
    pub(crate) fn ns_by_chain(&self) -> Vec<u64> {
        let mut ns = vec![0; self.chains.len()];
        for seen in self.epochs.iter().flatten() {
            for (chain, of_chain) in &seen.weights {
                ns[*chain as usize] += of_chain.iter().sum::<u64>();
            }
        }
        ns
    }

    /// Adds a sample. If `doer` is `None`, the process takes no part in requests, and its sample is only counted.
    pub(crate) fn count(
        &mut self,
        weights: &mut Weights,
        side: Side,
        doer: Option<Doer>,
        frames: &[FrameId],
        weight_ns: u64,
    ) {
        let Some(doer) = doer else {
            self.n_of_others += 1;
            return;
        };
        self.n_samples += 1;
        let chain = Chain { doer, frames: frames.into() };
        let id = self.ids.get(&chain).copied().unwrap_or_else(|| {
            let id = self.chains.len() as u32;
            self.ids.insert(chain.clone(), id);
            self.chains.push(chain);
            id
        });
        weights.entry(id).or_default()[side.idx()] += weight_ns;
    }
}

/// The times at which each arm ran, on the clock that also times the requests.
pub(crate) struct Windows(Vec<(u64, u64, Side)>);

impl Windows {
    /// Returns the times of an epoch's slices, including guards and drains, because requests and CPU times are counted
    /// over the same times.
    pub(crate) fn new(epoch: &MeasuredEpoch) -> Self {
        let slices = epoch.raw.sided();
        let windows = slices.map(|(side, slice)| {
            let start_ns = epoch.comparison_start_ns + slice.start_ns;
            let length_ns = slice.guard_ns + slice.active_ns + slice.drain_ns;
            (start_ns, start_ns + length_ns, side)
        });
        Self(windows.collect())
    }

    /// Returns the arm that was running at this time; `None` between slices.
    pub(crate) fn side_at(&self, time_ns: u64) -> Option<Side> {
        let after = self.0.partition_point(|(start_ns, _, _)| *start_ns <= time_ns);
        let (_, end_ns, side) = self.0.get(after.checked_sub(1)?)?;
        (time_ns < *end_ns).then_some(*side)
    }
}

#[cfg(test)]
mod tests {
    use looptax_model::record::Slice;

    use super::*;
    use crate::why::places::{Frame, Places};

    fn epoch() -> MeasuredEpoch {
        let slice = |start_ns| Slice { start_ns, guard_ns: 10, active_ns: 70, drain_ns: 5, ..Slice::default() };
        MeasuredEpoch {
            raw: Epoch { order: "bo".to_owned(), slices: vec![slice(100), slice(200)], ..Epoch::default() },
            comparison_start_ns: 1_000,
            ..MeasuredEpoch::default()
        }
    }

    #[test]
    fn a_time_belongs_to_the_slice_that_it_lies_in() {
        let windows = Windows::new(&epoch());
        for (time_ns, side) in [
            (0, None),
            (1_099, None),
            (1_100, Some(Side::Baseline)),
            (1_184, Some(Side::Baseline)),
            (1_185, None),
            (1_200, Some(Side::Other)),
            (1_284, Some(Side::Other)),
            (1_285, None),
        ] {
            assert_eq!(windows.side_at(time_ns), side, "{time_ns}");
        }
        assert_eq!(Windows::new(&MeasuredEpoch::default()).side_at(5), None);
    }

    #[test]
    fn equal_chains_are_one_and_others_are_only_counted() {
        let mut tally = Tally::default();
        let mut weights = Weights::new();
        let mut places = Places::default();
        let mut count = |side, doer, frames: &[u64]| {
            let frames: Vec<FrameId> = { frames.iter() }.map(|it| places.add_frame(Frame::Kernel(*it))).collect();
            tally.count(&mut weights, side, doer, &frames, 100);
        };
        count(Side::Baseline, Some(Doer::Client), &[1, 2]);
        count(Side::Other, Some(Doer::Client), &[1, 2]);
        count(Side::Other, Some(Doer::Client), &[1, 2]);
        count(Side::Other, Some(Doer::Server), &[1, 2]);
        count(Side::Other, None, &[1, 2]);
        assert_eq!((tally.n_samples, tally.n_of_others), (4, 1));
        assert_eq!(tally.chains.len(), 2);
        assert_eq!(weights[&0], [100, 200]);
        assert_eq!(weights[&1], [0, 100]);
    }
}
