//! One epoch: slices of alternating sides in a coin-flipped order, with the machine's activity during them.
//!
//! The [`SliceSource`] decides what a slice does: `requests` lets the load engine run it, `whole` runs a command, and
//! other modules load pages. This file decides which side has the next slice. Called by `experiment` and `glimpse`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_model::record::{self, Slice, TICK_NS, letter};
use looptax_model::stats::{Quantile, Side, quantile_of};

use crate::budget::Replanned;
use crate::error::BenchError;
use crate::machine::Snapshot;
use crate::plan::Course;
use crate::schedule::EpochDraw;
use crate::shape::Shape;
use crate::sys::process_cpu_ns;

/// The epoch to be measured next.
#[derive(Debug, Clone)]
pub struct EpochOrder {
    pub(crate) contrast_idx: usize,
    pub(crate) epoch: u64,
    pub(crate) counts: bool,
    pub(crate) shape: Shape,
    pub(crate) n_slices: usize,
    pub(crate) draw: EpochDraw,
}

/// The slice to be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceOrder {
    pub contrast_idx: usize,
    pub side: Side,
    /// Number of the epoch. The numbers of warm-up epochs differ from those of epochs that count.
    pub epoch: u64,
    /// Whether the slice counts, or belongs to the warm-up.
    pub counts: bool,
    /// Number of earlier slices of this arm in the same epoch.
    pub rank: u64,
    /// Random bits of this epoch, the same for all of its slices.
    pub coins: u64,
}

#[derive(Debug, Clone, Default)]
pub struct FilledSlice {
    /// The counts of the slice. `arm_idx` and `start_ns` are set later, by [`EpochOrder`].
    pub slice: Slice,
    /// When the slice began, by the measuring clock.
    pub start_ns: u64,
    /// The latency of each request that counts.
    pub latencies_ns: Vec<u32>,
    /// How late requests were sent (99th percentile); `None` if requests have no due times.
    pub lag_p99_ns: Option<u32>,
}

pub trait SliceSource {
    /// Fills one slice. `None` ends measuring: looptax has to stop, or needs no more slices.
    ///
    /// # Errors
    /// An error that makes the whole measurement worthless.
    fn fill(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, BenchError>;

    /// Returns the arms of a contrast, as their indexes among the arms of the comparison.
    fn pair(&self, _contrast_idx: usize) -> [u32; 2] {
        [0, 1]
    }

    /// Prepares whatever the slices of an epoch share.
    ///
    /// # Errors
    /// As [`SliceSource::fill`].
    fn begin(&mut self, _order: &EpochOrder) -> Result<(), BenchError> {
        Ok(())
    }

    /// Adds the data that are known only when all slices of the epoch have ended.
    ///
    /// # Errors
    /// As [`SliceSource::fill`].
    fn end(&mut self, _measured: &mut MeasuredEpoch) -> Result<(), BenchError> {
        Ok(())
    }

    /// Returns the CPU time that this process and its helpers have used so far, without the CPU time of the slices'
    /// clients.
    fn own_cpu_ns(&self) -> Option<u64> {
        process_cpu_ns(std::process::id())
    }

    /// Receives a warm-up epoch of the round `round`. May return another shape for the next epochs.
    fn adapted(&self, _round: u64, _epoch: &MeasuredEpoch, shape: Shape) -> Shape {
        shape
    }

    /// Returns how the plan changes after the warm-up. The plan has `n_epochs` epochs of each contrast, and the shape
    /// of its slices is `shape`. In each epoch, connecting, priming and waiting for answers take the time `beside`.
    fn replan(&self, _shape: Shape, _beside: Duration, _n_epochs: usize) -> Option<Replanned> {
        None
    }
}

/// An epoch, with data that the record does not contain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredEpoch {
    /// The counts in the form of the record, but without the place of the latencies, which is known only when the
    /// record is saved.
    pub raw: record::Epoch,
    /// Latencies in the counted windows, `[baseline, other]`, in nanoseconds; empty if the cap on latencies was
    /// reached.
    pub samples: [Vec<u32>; 2],
    /// Number of priming requests on both sides' connections together.
    pub n_primed: u64,
    /// Start of the comparison by `CLOCK_MONOTONIC`; the slices' times are relative to it.
    pub comparison_start_ns: u64,
}

impl MeasuredEpoch {
    /// Returns the number of all requests of the epoch, counted or not.
    pub fn n_requests(&self) -> u64 {
        let slices = self.raw.slices.iter();
        self.n_primed + slices.map(|slice| slice.requests).sum::<u64>()
    }
}

impl EpochOrder {
    /// Makes an epoch of `course`. A warm-up epoch may have a different number of slices.
    pub(crate) fn new(course: &Course, contrast_idx: usize, epoch: u64, counts: bool) -> Self {
        let shape = course.shape;
        let n_slices = course.warm_up.n_slices.filter(|_| !counts);
        Self {
            contrast_idx,
            epoch,
            counts,
            shape,
            n_slices: n_slices.unwrap_or(shape.n_slices()),
            draw: EpochDraw::new(course.seed, contrast_idx, epoch, shape.jitter),
        }
    }

    /// Measures the epoch. `None` if looptax had to stop during the epoch; an error is then ignored, because the stop
    /// may have caused it.
    pub(crate) fn measure(
        &self,
        source: &mut dyn SliceSource,
        comparison_start_ns: u64,
        stop: &AtomicBool,
    ) -> Result<Option<MeasuredEpoch>, BenchError> {
        match self.fill_all(source, comparison_start_ns, stop) {
            Err(_) if stop.load(Ordering::Relaxed) => Ok(None),
            measured => measured,
        }
    }

    fn fill_all(
        &self,
        source: &mut dyn SliceSource,
        comparison_start_ns: u64,
        stop: &AtomicBool,
    ) -> Result<Option<MeasuredEpoch>, BenchError> {
        source.begin(self)?;
        thread::sleep(self.draw.jitter);
        let own_start_ns = source.own_cpu_ns();
        let machine = Snapshot::read();
        let pair = source.pair(self.contrast_idx);
        let sides = self.draw.order(self.n_slices);
        let mut slices = Vec::with_capacity(sides.len());
        let mut samples = [Vec::new(), Vec::new()];
        let mut lags = [Vec::new(), Vec::new()];
        for side in sides.iter().copied() {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let order = SliceOrder {
                contrast_idx: self.contrast_idx,
                side,
                epoch: self.epoch,
                counts: self.counts,
                rank: lags[side.idx()].len() as u64,
                coins: self.draw.coins,
            };
            let Some(filled) = source.fill(order)? else {
                return Ok(None);
            };
            slices.push(Slice {
                arm_idx: pair[side.idx()],
                start_ns: filled.start_ns.saturating_sub(comparison_start_ns),
                ..filled.slice
            });
            samples[side.idx()].extend(filled.latencies_ns);
            lags[side.idx()].push(filled.lag_p99_ns);
        }
        let machine = Snapshot::read().since(machine);
        // The CPU time of the programs that ran for a slice belongs to the measurement.
        let clients_ns: u64 = slices.iter().filter_map(|it| it.client_cpu_ns).sum();
        let own_ns = source.own_cpu_ns().zip(own_start_ns);
        let own_ns = own_ns.map(|(now, then)| now.saturating_sub(then) + clients_ns);
        let server_ns: Option<u64> = slices.iter().map(|slice| slice.server_cpu_ns).sum();
        let ticks = |cpu_ns: u64| cpu_ns as f64 / TICK_NS as f64;
        let mut measured = MeasuredEpoch {
            raw: record::Epoch {
                pair,
                order: sides.into_iter().map(letter).collect(),
                slices,
                cpu_ticks: machine.ticks,
                own_ticks: own_ns.map(ticks),
                server_ticks: server_ns.map(ticks),
                cpu_pressure_us: machine.cpu_pressure_us,
                n_throttled: machine.n_throttled,
                // If answers are wrong, the source returns an error, or its function `end` sets this field to false.
                answers_agree: true,
                lag_p99_ns: lags.map(median_lag),
                ..record::Epoch::default()
            },
            samples,
            n_primed: 0,
            comparison_start_ns,
        };
        source.end(&mut measured)?;
        Ok(Some(measured))
    }
}

/// Returns the median over slices; `None` in a closed loop.
fn median_lag(lags: Vec<Option<u32>>) -> Option<u32> {
    let lags: Option<Vec<u32>> = lags.into_iter().collect();
    quantile_of(&[&lags?], Quantile::P50)
}
#[cfg(test)]
mod tests {
    use looptax_model::failure::Failure;
    use looptax_model::stats::InterimAnalyses;

    use super::*;
    use crate::experiment::{Outcome, run_slices};
    use crate::plan::{Stopping, WarmUp};
    use crate::progress::Silent;

    /// Fills slices with requests that take the time of their side in `ns`, and records the orders in `asked`.
    struct Fake {
        ns: [u64; 2],
        asked: Vec<SliceOrder>,
        fails_at: Option<usize>,
    }

    impl SliceSource for Fake {
        fn fill(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, BenchError> {
            self.asked.push(order);
            if self.fails_at == Some(self.asked.len()) {
                return Err(Failure::usage("a page failed", "look at it").into());
            }
            // Noise that does not depend on the side.
            let ns = self.ns[order.side.idx()] + 1_000 * (order.coins % 7 + order.rank);
            Ok(Some(FilledSlice {
                slice: Slice { completions: 1, requests: 1, active_ns: ns, latency_sum_ns: ns, ..Slice::default() },
                latencies_ns: vec![ns as u32],
                ..FilledSlice::default()
            }))
        }
    }

    fn course(octets: usize) -> Course {
        Course {
            seed: 7,
            names: vec!["unix, tcp".to_owned(), "redis: unix, tcp".to_owned()],
            connections: 1,
            shape: Shape { octets, ..Shape::whole() },
            warm_up: WarmUp::epochs(1),
            stopping: Stopping::at(InterimAnalyses::fixed(6), 0.01),
            max_sample_bytes: 1 << 20,
        }
    }

    fn measured(octets: usize, fails_at: Option<usize>) -> (Fake, Outcome) {
        let mut fake = Fake { ns: [1_000_000, 1_100_000], asked: Vec::new(), fails_at };
        let stop = AtomicBool::new(false);
        let outcome = run_slices(&course(octets), &mut fake, &mut Silent, &stop);
        (fake, outcome)
    }

    #[test]
    fn each_contrast_has_epochs_of_balanced_slices() {
        for (octets, n_slices) in [(0, 4), (1, 8), (2, 16)] {
            let (fake, outcome) = measured(octets, None);
            assert!(outcome.failure.is_none());
            assert_eq!(fake.asked.len(), 2 * (1 + 6) * n_slices);
            for (contrast_idx, contrast) in outcome.contrasts.iter().enumerate() {
                assert_eq!(contrast.epochs.len(), 6);
                for epoch in &contrast.epochs {
                    let theta = epoch.raw.counts().theta().unwrap();
                    assert!((theta - 0.095).abs() < 0.005, "{contrast_idx}: {theta}");
                    assert_eq!(epoch.samples[0].len(), n_slices / 2);
                }
            }
            for epoch in fake.asked.chunks(n_slices) {
                let of = |side| epoch.iter().filter(move |it| it.side == side);
                assert_eq!(of(Side::Baseline).count(), of(Side::Other).count());
                let ranks: Vec<u64> = of(Side::Other).map(|it| it.rank).collect();
                assert!(ranks.iter().copied().eq(0..n_slices as u64 / 2));
                assert!(epoch.iter().all(|it| it.coins == epoch[0].coins));
            }
        }
    }

    #[test]
    fn a_slice_that_fails_ends_it_and_keeps_the_epochs_before() {
        let (_, outcome) = measured(0, Some(2 * 4 + 2 * 4 + 1));
        assert!(matches!(outcome.failure, Some(BenchError::Slice(_))));
        let n_epochs: usize = outcome.contrasts.iter().map(|it| it.epochs.len()).sum();
        assert_eq!(n_epochs, 2);
    }
}
