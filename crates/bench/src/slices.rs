//! The experiment with slices that somebody else fills: pages of an application, whole runs of a load.
//!
//! What a slice does is its [`SliceSource`]'s business; this file decides which arm has the next one, keeps epochs, and
//! looks at them as `run` does. Called by the rooms `trial` and `replay`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_model::failure::Failure;
use looptax_model::record::Slice;
use looptax_model::stats::{Quantile, Side, quantile_of};

use crate::clock::now_ns;
use crate::epoch::{MeasuredEpoch, raw_epoch};
use crate::error::BenchError;
use crate::experiment::{ContrastRun, Course, EpochSource, Experiment};
use crate::machine::Snapshot;
use crate::plan::{Stopping, WarmUp};
use crate::progress::Observer;
use crate::schedule::EpochDraw;
use crate::sys::process_cpu_ns;

/// Longest random pause before an epoch, so that none keeps step with housekeeping timers.
const LONGEST_JITTER: Duration = Duration::from_millis(20);

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct SlicesPlan {
    /// Everything random comes from this.
    pub seed: u64,
    /// The contrasts' names, for progress: `unix, tcp`. Each has epochs of its own.
    pub contrasts: Vec<String>,
    /// Slices of an epoch: four, or a multiple of eight.
    pub slices_per_epoch: usize,
    /// Requests in flight at a time.
    pub connections: usize,
    /// What does not count.
    pub warm_up: WarmUp,
    /// When to end.
    pub stopping: Stopping,
    /// Latencies beyond so many bytes are not kept.
    pub max_sample_bytes: usize,
}

/// The slice that is to be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceOrder {
    pub contrast_idx: usize,
    /// The arm of it.
    pub side: Side,
    /// The epoch: one of the warm-up has a number that no counted one has.
    pub epoch: u64,
    /// How many slices this arm has had in this epoch.
    pub rank: u64,
    /// Chance of this epoch, the same for all of its slices.
    pub coins: u64,
}

/// A slice that was filled.
#[derive(Debug, Clone, Default)]
pub struct FilledSlice {
    /// The counts; which arm it was, and when, is filled in here.
    pub slice: Slice,
    /// When it began, by the measuring clock.
    pub start_ns: u64,
    /// Latency of each request that counts.
    pub latencies_ns: Vec<u32>,
    /// How late requests were sent, 99th percentile, where a schedule said when.
    pub lag_p99_ns: Option<u32>,
}

/// Fills slices.
pub trait SliceSource {
    /// Fills one; `None` ends the measuring: told to stop in the middle of it, or no more is wanted.
    ///
    /// # Errors
    /// What makes the whole measurement worthless.
    fn fill(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, Failure>;
}

/// What the experiment gave.
#[derive(Debug)]
pub struct SlicesOutcome {
    pub contrasts: Vec<ContrastRun>,
    /// Warm-up epochs of each contrast.
    pub n_warm_up_epochs: usize,
    /// What went wrong, when something did; the contrasts hold the epochs before it.
    pub failure: Option<BenchError>,
}

/// Measures until every contrast has ended, its time is over, `stop` is set, or a slice fails.
pub fn run_slices(
    plan: &SlicesPlan,
    source: &mut dyn SliceSource,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> SlicesOutcome {
    let course = Course {
        seed: plan.seed,
        names: plan.contrasts.clone(),
        warm_up: plan.warm_up,
        stopping: plan.stopping.clone(),
        connections: plan.connections,
        max_sample_bytes: plan.max_sample_bytes,
    };
    let slices = Slices {
        plan,
        source,
        stop,
        run_start_ns: now_ns(),
    };
    let mut experiment = Experiment::new(course, slices, Duration::ZERO, observer, stop);
    let failure = experiment.conduct().err();
    SlicesOutcome {
        contrasts: experiment.contrasts,
        n_warm_up_epochs: experiment.n_warm_up_epochs,
        failure,
    }
}

/// Epochs of slices that a source fills.
struct Slices<'a> {
    plan: &'a SlicesPlan,
    source: &'a mut dyn SliceSource,
    stop: &'a AtomicBool,
    run_start_ns: u64,
}

impl EpochSource for Slices<'_> {
    fn epoch(
        &mut self,
        contrast_idx: usize,
        epoch: u64,
    ) -> Result<Option<MeasuredEpoch>, BenchError> {
        match self.measure(contrast_idx, epoch) {
            Err(_) if self.stop.load(Ordering::Relaxed) => Ok(None),
            measured => measured,
        }
    }
}

impl Slices<'_> {
    fn measure(
        &mut self,
        contrast_idx: usize,
        epoch: u64,
    ) -> Result<Option<MeasuredEpoch>, BenchError> {
        let draw = EpochDraw::new(self.plan.seed, contrast_idx, epoch, LONGEST_JITTER);
        thread::sleep(draw.jitter);
        let own_start_ns = process_cpu_ns(std::process::id());
        let machine = Snapshot::read();
        let sides = draw.order(self.plan.slices_per_epoch);
        let mut filled: [Vec<FilledSlice>; 2] = Default::default();
        let mut slices = Vec::with_capacity(sides.len());
        for side in sides.iter().copied() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let order = SliceOrder {
                contrast_idx,
                side,
                epoch,
                rank: filled[side.idx()].len() as u64,
                coins: draw.coins,
            };
            let one = self.source.fill(order).map_err(BenchError::Slice)?;
            let Some(one) = one else { return Ok(None) };
            slices.push(Slice {
                arm_idx: side.idx() as u32,
                start_ns: one.start_ns.saturating_sub(self.run_start_ns),
                ..one.slice.clone()
            });
            filled[side.idx()].push(one);
        }
        let own_ns = process_cpu_ns(std::process::id())
            .zip(own_start_ns)
            .map(|(now, then)| now.saturating_sub(then));
        // The application is part of what is measured, and no stranger.
        let client_ns: u64 = slices.iter().filter_map(|slice| slice.client_cpu_ns).sum();
        let machine = Snapshot::read().since(machine);
        let mut raw = raw_epoch(
            [0, 1],
            sides,
            slices,
            machine,
            own_ns.map(|own| own + client_ns),
        );
        // Each slice was held against what its pages should be when it was filled.
        raw.answers_agree = true;
        raw.lag_p99_ns = [0, 1].map(|side| median_lag(&filled[side]));
        let samples =
            filled.map(|slices| slices.into_iter().flat_map(|it| it.latencies_ns).collect());
        Ok(Some(MeasuredEpoch {
            raw,
            samples,
            ..MeasuredEpoch::default()
        }))
    }
}

/// The median over slices; `None` in a closed loop.
fn median_lag(slices: &[FilledSlice]) -> Option<u32> {
    let lags: Option<Vec<u32>> = slices.iter().map(|it| it.lag_p99_ns).collect();
    quantile_of(&[&lags?], Quantile::P50)
}

#[cfg(test)]
mod tests {
    use looptax_model::stats::{InterimAnalyses, StopRule};

    use super::*;
    use crate::progress::Silent;

    /// Fills slices whose requests take as long as their side says, and remembers what was asked.
    struct Fake {
        ns: [u64; 2],
        asked: Vec<SliceOrder>,
        fails_at: Option<usize>,
    }

    impl SliceSource for Fake {
        fn fill(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, Failure> {
            self.asked.push(order);
            if self.fails_at == Some(self.asked.len()) {
                return Err(Failure::usage("a page failed", "look at it"));
            }
            // Some noise that does not know the sides.
            let ns = self.ns[order.side.idx()] + 1_000 * (order.coins % 7 + order.rank);
            Ok(Some(FilledSlice {
                slice: Slice {
                    completions: 1,
                    requests: 1,
                    active_ns: ns,
                    latency_sum_ns: ns,
                    ..Slice::default()
                },
                latencies_ns: vec![ns as u32],
                ..FilledSlice::default()
            }))
        }
    }

    fn plan(slices_per_epoch: usize) -> SlicesPlan {
        SlicesPlan {
            seed: 7,
            contrasts: vec!["unix, tcp".to_owned(), "redis: unix, tcp".to_owned()],
            slices_per_epoch,
            connections: 1,
            warm_up: WarmUp {
                least_epochs: 1,
                least: Duration::ZERO,
                at_most: Duration::ZERO,
            },
            stopping: Stopping {
                analyses: InterimAnalyses::fixed(6),
                rule: StopRule { is_precise: false },
                delta: 0.01,
                deadline: None,
            },
            max_sample_bytes: 1 << 20,
        }
    }

    fn measured(slices_per_epoch: usize, fails_at: Option<usize>) -> (Fake, SlicesOutcome) {
        let mut fake = Fake {
            ns: [1_000_000, 1_100_000],
            asked: Vec::new(),
            fails_at,
        };
        let stop = AtomicBool::new(false);
        let outcome = run_slices(&plan(slices_per_epoch), &mut fake, &mut Silent, &stop);
        (fake, outcome)
    }

    #[test]
    fn each_contrast_has_epochs_of_balanced_slices() {
        for n_slices in [4, 8, 16] {
            let (fake, outcome) = measured(n_slices, None);
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
        let (_, outcome) = measured(4, Some(2 * 4 + 2 * 4 + 1));
        assert!(matches!(outcome.failure, Some(BenchError::Slice(_))));
        let n_epochs: usize = outcome.contrasts.iter().map(|it| it.epochs.len()).sum();
        assert_eq!(n_epochs, 2);
    }
}
