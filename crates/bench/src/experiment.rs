//! The loop of an experiment: the warm-up, then epochs of all contrasts (pairs of arms) in random order with interim
//! analyses, until the end.
//!
//! A [`SliceSource`] fills the slices of an epoch. The slices contain requests of the load engine (`requests`),
//! commands (`whole`), or pages (a source in another crate). This loop is the same for all of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_model::stats::{
    Decision, Epoch, Estimate, Input, InterimAnalyses, InterimAnalysis, StopCause, Verdict, hodges_lehmann, mean,
    median, primary, rate_per_s,
};

use crate::clock::now_ns;
use crate::error::BenchError;
use crate::plan::{Course, Stopping};
use crate::progress::{Observer, Phase, Progress};
use crate::schedule::round_order;
use crate::shape::Shape;
use crate::slices::{EpochOrder, MeasuredEpoch, SliceSource};

/// Number of the first warm-up epoch. Warm-up epochs have separate numbers, so that the random choices of the measured
/// epochs depend on the seed, and not on the length of the warm-up.
const WARM_UP_EPOCHS: u64 = 1 << 32;
/// The warm-up continues while the median rate of its last four epochs differs by more than this from the median rate
/// of the four epochs before.
const STEADY: f64 = 0.03;
/// Least number of epochs in a run with a time limit: fewer epochs give no interval at the level of a single interim
/// analysis.
const LEAST_EPOCHS: usize = 6;
/// A run with a time limit ends early when it has this many epochs.
const MOST_EPOCHS: usize = 10_000;

#[derive(Debug)]
pub struct ContrastRun {
    pub epochs: Vec<MeasuredEpoch>,
    /// The interim analysis that ended the contrast, and why; `None` if measuring was cut short.
    pub stopped: Option<(InterimAnalysis, StopCause)>,
}

#[derive(Debug)]
pub struct Outcome {
    pub contrasts: Vec<ContrastRun>,
    /// The slices as they were after the warm-up.
    pub shape: Shape,
    /// The interim analyses as they were after the warm-up.
    pub analyses: InterimAnalyses,
    pub n_warm_up_epochs: usize,
    /// The number of all requests, including warm-up, priming and guards. The server should have counted the same
    /// number. An epoch that was interrupted is not included.
    pub n_requests: u64,
    /// Whether the user asked looptax to stop.
    pub is_interrupted: bool,
    /// The error, if measuring failed; the contrasts hold the epochs measured before it.
    pub failure: Option<BenchError>,
}

/// Measures until every contrast has ended, the time is over, `stop` is set, or a slice fails.
pub fn run_slices(
    course: &Course,
    source: &mut dyn SliceSource,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Outcome {
    let unmeasured = |_: &String| ContrastRun { epochs: Vec::new(), stopped: None };
    let mut experiment = Experiment {
        source,
        observer,
        stop,
        start_ns: now_ns(),
        contrasts: course.names.iter().map(unmeasured).collect(),
        n_warm_up_epochs: 0,
        n_requests: 0,
        numbers: vec![Vec::new(); course.names.len()],
        epoch_time: Duration::ZERO,
        beside: Duration::ZERO,
        least_left: Duration::MAX,
        sample_room_bytes: course.max_sample_bytes,
        course: course.clone(),
    };
    let failure = experiment.conduct().err();
    Outcome {
        contrasts: experiment.contrasts,
        shape: experiment.course.shape,
        analyses: experiment.course.stopping.analyses,
        n_warm_up_epochs: experiment.n_warm_up_epochs,
        n_requests: experiment.n_requests,
        is_interrupted: stop.load(Ordering::Relaxed),
        failure,
    }
}

struct Experiment<'a> {
    course: Course,
    source: &'a mut dyn SliceSource,
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    start_ns: u64,
    contrasts: Vec<ContrastRun>,
    n_warm_up_epochs: usize,
    n_requests: u64,
    /// For each contrast, the counts of its epochs. The interim analyses decide from these counts.
    numbers: Vec<Vec<Epoch>>,
    /// How long the last epoch took; for a warm-up epoch, how long it would have taken with all slices.
    epoch_time: Duration,
    /// How much of the last epoch's time was outside its slices.
    beside: Duration,
    /// The least remaining time reported so far: the reported upper bound must not grow.
    least_left: Duration,
    /// How many bytes of latencies may still be kept.
    sample_room_bytes: usize,
}

impl Experiment<'_> {
    fn conduct(&mut self) -> Result<(), BenchError> {
        self.warm_up()?;
        if !self.is_stopped() {
            self.replan()?;
        }
        self.measure()
    }

    /// Reduces the number of epochs to those that fit into the promised time, and reports what has changed.
    ///
    /// # Errors
    /// [`BenchError::TooSlow`] if not even one epoch fits.
    fn replan(&mut self) -> Result<(), BenchError> {
        let stopping = &mut self.course.stopping;
        if let Some(time) = stopping.time {
            let n_epochs = time.div_duration_f64(self.epoch_time) as usize;
            stopping.analyses = InterimAnalyses::fixed(n_epochs.clamp(LEAST_EPOCHS, MOST_EPOCHS));
        }
        let n_epochs = stopping.analyses.n_max();
        let replanned = self.source.replan(self.course.shape, self.beside, n_epochs);
        let Some(replanned) = replanned else {
            return Ok(());
        };
        let [planned, now] = replanned.n_epochs;
        if now == 0 {
            return Err(BenchError::TooSlow {
                epoch: replanned.all_take.div_f64(planned.max(1) as f64),
                planned: replanned.planned,
            });
        }
        if now < planned {
            stopping.analyses = InterimAnalyses::fixed(now);
        }
        self.observer.replanned(&replanned);
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn epoch(&mut self, contrast_idx: usize, epoch: u64, counts: bool) -> Result<Option<MeasuredEpoch>, BenchError> {
        let order = EpochOrder::new(&self.course, contrast_idx, epoch, counts);
        let start_ns = now_ns();
        let data = order.measure(self.source, self.start_ns, self.stop)?;
        let spent = Duration::from_nanos(now_ns() - start_ns);
        self.beside = spent.saturating_sub(order.shape.epoch());
        self.epoch_time = spent.mul_f64(order.shape.n_slices() as f64 / order.n_slices as f64);
        self.n_requests += data.as_ref().map_or(0, MeasuredEpoch::n_requests);
        Ok(data)
    }

    /// Runs uncounted epochs of all contrasts in turn until the rate is steady or the time is up.
    fn warm_up(&mut self) -> Result<(), BenchError> {
        if self.course.warm_up.is_none() {
            return Ok(());
        }
        let start_ns = now_ns();
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); self.course.names.len()];
        for round in 0.. {
            for (contrast_idx, rates) in rates.iter_mut().enumerate() {
                let Some(data) = self.epoch(contrast_idx, WARM_UP_EPOCHS + round, false)? else {
                    return Ok(());
                };
                rates.push(total_rate(&data));
                self.course.shape = self.source.adapted(round, &data, self.course.shape);
                self.tell_warm_up(contrast_idx, round as usize + 1, &data);
            }
            self.n_warm_up_epochs = round as usize + 1;
            let spent = Duration::from_nanos(now_ns() - start_ns);
            let warm_up = self.course.warm_up;
            // If epochs take seconds, two warm-up epochs have to be enough.
            let is_late = !warm_up.at_most.is_zero() && spent >= warm_up.at_most;
            let least_epochs = warm_up.least_epochs.min(if is_late { 2 } else { usize::MAX });
            let enough = self.n_warm_up_epochs >= least_epochs && spent >= warm_up.least;
            if self.is_stopped() || enough && (spent >= warm_up.at_most || rates.iter().all(|it| is_steady(it))) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Measures round by round. In a round, every contrast that has not ended gets one epoch; the order of the
    /// contrasts is random.
    fn measure(&mut self) -> Result<(), BenchError> {
        let start_ns = now_ns();
        for round in 0.. {
            let has_ended = self.contrasts.iter().all(|it| it.stopped.is_some());
            let spent = Duration::from_nanos(now_ns() - start_ns);
            let is_over = self.course.stopping.is_over(round as usize, spent);
            if has_ended || self.is_stopped() || is_over {
                return Ok(());
            }
            for contrast_idx in round_order(self.course.seed, round, self.course.names.len()) {
                if self.contrasts[contrast_idx].stopped.is_some() {
                    continue;
                }
                let Some(data) = self.epoch(contrast_idx, round, true)? else {
                    return Ok(());
                };
                self.keep(contrast_idx, data);
            }
        }
        Ok(())
    }

    fn keep(&mut self, contrast_idx: usize, mut data: MeasuredEpoch) {
        let bytes: usize = data.samples.iter().map(|samples| samples.len() * size_of::<u32>()).sum();
        if bytes <= self.sample_room_bytes {
            self.sample_room_bytes -= bytes;
        } else {
            // From here on no epoch keeps its latencies. Otherwise only slow epochs would keep their latencies, because
            // a slow epoch has fewer.
            self.sample_room_bytes = 0;
            data.samples = [Vec::new(), Vec::new()];
        }
        let answers_agree = data.raw.answers_agree;
        // The interim analyses decide from the throughput only.
        self.numbers[contrast_idx].push(data.raw.counts());
        self.contrasts[contrast_idx].epochs.push(data);

        let n_epochs = self.numbers[contrast_idx].len();
        let analyses = &self.course.stopping.analyses;
        if !answers_agree {
            let analysis = analyses.iter().last().expect("a schedule has an interim analysis");
            self.contrasts[contrast_idx].stopped = Some((analysis, StopCause::Invalid));
        } else if let Some(analysis) = analyses.due(n_epochs) {
            self.contrasts[contrast_idx].stopped =
                decide(&self.course.stopping, &self.numbers[contrast_idx], self.course.connections, analysis)
                    .map(|cause| (analysis, cause));
        }
        self.tell(contrast_idx);
    }

    fn tell_warm_up(&mut self, contrast_idx: usize, n_epochs: usize, epoch: &MeasuredEpoch) {
        let progress = Progress {
            contrast: &self.course.names[contrast_idx],
            contrast_idx,
            phase: Phase::WarmUp,
            n_epochs,
            n_epochs_at_most: self.course.warm_up.least_epochs.max(n_epochs),
            epoch,
            epoch_theta: None,
            next_analysis: None,
            theta: None,
            left_at_most: self.left_at_most(),
        };
        self.observer.epoch_ended(&progress);
    }

    fn tell(&mut self, contrast_idx: usize) {
        self.least_left = self.left_at_most().min(self.least_left);
        let run = &self.contrasts[contrast_idx];
        let [.., epoch] = &run.epochs[..] else {
            return;
        };
        let n_epochs = run.epochs.len();
        let numbers = &self.numbers[contrast_idx];
        let analyses = &self.course.stopping.analyses;
        let next_analysis = analyses.after(n_epochs).filter(|_| run.stopped.is_none());
        self.observer.epoch_ended(&Progress {
            contrast: &self.course.names[contrast_idx],
            contrast_idx,
            phase: Phase::Measuring,
            n_epochs,
            n_epochs_at_most: analyses.n_max(),
            epoch,
            epoch_theta: numbers.last().and_then(Epoch::theta),
            next_analysis: next_analysis.map(|analysis| analysis.n_epochs),
            theta: rough_theta(numbers),
            left_at_most: self.least_left,
        });
    }

    /// Returns the remaining time if no contrast ends early.
    fn left_at_most(&self) -> Duration {
        let most = self.course.stopping.analyses.n_max();
        let running = self.contrasts.iter();
        let left: usize =
            running.filter(|it| it.stopped.is_none()).map(|it| most.saturating_sub(it.epochs.len())).sum();
        self.epoch_time * u32::try_from(left).unwrap_or(u32::MAX)
    }
}

/// Returns the reason why this interim analysis ends the contrast; `None` if the contrast continues.
fn decide(stopping: &Stopping, epochs: &[Epoch], connections: usize, analysis: InterimAnalysis) -> Option<StopCause> {
    let primary = primary(&Input {
        epochs,
        connections: connections as u32,
        alpha: analysis.alpha,
        delta: stopping.delta,
        invalid: Vec::new(),
        stopped_early: false,
        can_move: false,
    });
    let Some(theta) = primary.theta else {
        // The last interim analysis ends the contrast even if there is no estimate.
        return analysis.is_last.then_some(StopCause::Last);
    };
    // The verdict may depend on disturbed epochs. If there are too few or too many such epochs to check this, the
    // contrast gets more epochs.
    let has_answer = theta.has_interval() && !primary.is_unchecked();
    let verdict = if has_answer || analysis.is_last { primary.verdict } else { Verdict::Inconclusive };
    match stopping.rule.decide(analysis, &theta, verdict) {
        Decision::Continue => None,
        Decision::Stop(cause) => Some(cause),
    }
}

/// Returns a rough estimate for the progress line only; it never decides anything.
fn rough_theta(epochs: &[Epoch]) -> Option<Estimate> {
    let thetas: Vec<f64> = epochs.iter().filter_map(Epoch::theta).collect();
    hodges_lehmann::estimate(&thetas, 0.05)
}

fn total_rate(data: &MeasuredEpoch) -> f64 {
    let rates: Vec<f64> = data.raw.counts().slices.iter().map(rate_per_s).collect();
    mean(&rates)
}

/// Returns whether the median rate of the last four epochs is within 3 % of the median of the four epochs before.
fn is_steady(rates: &[f64]) -> bool {
    let last = rates.len().checked_sub(8).map(|from| rates[from..].to_vec());
    let medians = last.and_then(|mut last| {
        let (before, now) = last.split_at_mut(4);
        Some((median(before)?, median(now)?))
    });
    medians.is_some_and(|(before, now)| (now / before - 1.0).abs() <= STEADY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_means_within_three_percent() {
        assert!(!is_steady(&[100.0; 7]));
        assert!(is_steady(&[100.0, 100.0, 100.0, 100.0, 102.0, 102.0, 102.0, 102.0]));
        assert!(!is_steady(&[100.0, 100.0, 100.0, 100.0, 104.0, 104.0, 104.0, 104.0]));
    }
}
