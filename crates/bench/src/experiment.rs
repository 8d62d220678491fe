//! The loop of an experiment: warm-up, then epochs of all contrasts in random order, interim analyses, the end.
//!
//! What an epoch is, its [`EpochSource`] knows: `run` for requests of the load engine, `slices` for slices that another
//! room fills.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_model::stats::{
    Decision, Epoch, Estimate, Input, InterimAnalyses, InterimAnalysis, StopCause, Verdict,
    hodges_lehmann, mean, median, primary, rate_per_s,
};

use crate::budget::Replanned;
use crate::clock::now_ns;
use crate::epoch::MeasuredEpoch;
use crate::error::BenchError;
use crate::plan::{Stopping, WarmUp};
use crate::progress::{Observer, Phase, Progress};
use crate::schedule::round_order;

/// Warm-up epochs have numbers of their own, so that measured epochs repeat by seed.
const WARM_UP_EPOCHS: u64 = 1 << 32;
/// The warm-up goes on while the median rate of its last four epochs is off by more than this.
const STEADY: f64 = 0.03;

/// What one contrast gave.
#[derive(Debug)]
pub struct ContrastRun {
    /// All counted epochs.
    pub epochs: Vec<MeasuredEpoch>,
    /// The interim analysis that ended it, and why; `None` when it was cut short.
    pub stopped: Option<(InterimAnalysis, StopCause)>,
}

/// When an experiment warms up, looks and ends.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    /// Draws the order of the contrasts.
    pub(crate) seed: u64,
    /// Names of the contrasts, for progress.
    pub(crate) names: Vec<String>,
    pub(crate) warm_up: WarmUp,
    pub(crate) stopping: Stopping,
    /// Connections per arm.
    pub(crate) connections: usize,
    /// Latencies beyond this are not kept.
    pub(crate) max_sample_bytes: usize,
}

/// Makes the epochs of an experiment.
pub(crate) trait EpochSource {
    /// Runs an epoch of a contrast; `None` when told to stop in the middle of it.
    fn epoch(
        &mut self,
        contrast_idx: usize,
        epoch: u64,
    ) -> Result<Option<MeasuredEpoch>, BenchError>;

    /// Sees an epoch of the warm-up's round `round`, and may make the next ones otherwise.
    fn adapt(&mut self, _round: u64, _epoch: &MeasuredEpoch) {}

    /// What the warm-up has changed of a plan with so many epochs of each contrast.
    fn replan(&self, _n_epochs: usize) -> Option<Replanned> {
        None
    }
}

/// An experiment under way.
pub(crate) struct Experiment<'a, S> {
    pub(crate) course: Course,
    pub(crate) source: S,
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    pub(crate) contrasts: Vec<ContrastRun>,
    /// Warm-up epochs of each contrast.
    pub(crate) n_warm_up_epochs: usize,
    /// By contrast: the counts of its epochs, for the interim analyses.
    numbers: Vec<Vec<Epoch>>,
    /// How long the last epoch took.
    epoch_time: Duration,
    /// The least time left that was told: a bound does not grow.
    least_left: Duration,
    /// What is left of the cap on latencies.
    sample_room_bytes: usize,
}

impl<'a, S: EpochSource> Experiment<'a, S> {
    /// One in which nothing is measured yet; an epoch takes about `epoch_time`.
    pub(crate) fn new(
        course: Course,
        source: S,
        epoch_time: Duration,
        observer: &'a mut dyn Observer,
        stop: &'a AtomicBool,
    ) -> Self {
        let unmeasured = |_: &String| ContrastRun {
            epochs: Vec::new(),
            stopped: None,
        };
        Self {
            source,
            observer,
            stop,
            contrasts: course.names.iter().map(unmeasured).collect(),
            n_warm_up_epochs: 0,
            numbers: vec![Vec::new(); course.names.len()],
            epoch_time,
            least_left: Duration::MAX,
            sample_room_bytes: course.max_sample_bytes,
            course,
        }
    }

    /// Goes on until every contrast has ended, its time is over, or somebody stops it.
    ///
    /// # Errors
    /// What ended an epoch; the epochs before it are kept.
    pub(crate) fn conduct(&mut self) -> Result<(), BenchError> {
        self.warm_up()?;
        if !self.is_stopped() {
            self.replan()?;
        }
        self.measure()
    }

    /// Measures as many epochs as keep to the time that was promised, and tells what has changed.
    ///
    /// # Errors
    /// [`BenchError::TooSlow`] where none does.
    fn replan(&mut self) -> Result<(), BenchError> {
        let stopping = &mut self.course.stopping;
        let Some(replanned) = self.source.replan(stopping.analyses.n_max()) else {
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

    fn epoch(
        &mut self,
        contrast_idx: usize,
        epoch: u64,
    ) -> Result<Option<MeasuredEpoch>, BenchError> {
        let start_ns = now_ns();
        let data = self.source.epoch(contrast_idx, epoch)?;
        self.epoch_time = Duration::from_nanos(now_ns() - start_ns);
        Ok(data)
    }

    /// Unmeasured epochs of all contrasts in turn, until the rate stands still or time is up.
    fn warm_up(&mut self) -> Result<(), BenchError> {
        if self.course.warm_up.is_none() {
            return Ok(());
        }
        let start_ns = now_ns();
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); self.course.names.len()];
        for round in 0.. {
            for (contrast_idx, rates) in rates.iter_mut().enumerate() {
                let Some(data) = self.epoch(contrast_idx, WARM_UP_EPOCHS + round)? else {
                    return Ok(());
                };
                rates.push(total_rate(&data));
                self.source.adapt(round, &data);
                self.tell_warm_up(contrast_idx, round as usize + 1, &data);
            }
            self.n_warm_up_epochs = round as usize + 1;
            let spent = Duration::from_nanos(now_ns() - start_ns);
            let warm_up = self.course.warm_up;
            // Of epochs that take seconds, two have to be enough.
            let is_late = !warm_up.at_most.is_zero() && spent >= warm_up.at_most;
            let least_epochs = warm_up
                .least_epochs
                .min(if is_late { 2 } else { usize::MAX });
            let enough = self.n_warm_up_epochs >= least_epochs && spent >= warm_up.least;
            if self.is_stopped()
                || enough && (spent >= warm_up.at_most || rates.iter().all(|it| is_steady(it)))
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Rounds of one epoch per contrast that has not ended, in random order.
    fn measure(&mut self) -> Result<(), BenchError> {
        for round in 0.. {
            let has_ended = self.contrasts.iter().all(|it| it.stopped.is_some());
            if has_ended || self.is_stopped() || self.course.stopping.is_over() {
                return Ok(());
            }
            for contrast_idx in round_order(self.course.seed, round, self.course.names.len()) {
                if self.contrasts[contrast_idx].stopped.is_some() {
                    continue;
                }
                let Some(data) = self.epoch(contrast_idx, round)? else {
                    return Ok(());
                };
                self.keep(contrast_idx, data);
            }
        }
        Ok(())
    }

    fn keep(&mut self, contrast_idx: usize, mut data: MeasuredEpoch) {
        let bytes: usize = data
            .samples
            .iter()
            .map(|samples| samples.len() * size_of::<u32>())
            .sum();
        if bytes <= self.sample_room_bytes {
            self.sample_room_bytes -= bytes;
        } else {
            // Nor those of later epochs, which would fit only where they are few, that is slow.
            self.sample_room_bytes = 0;
            data.samples = [Vec::new(), Vec::new()];
        }
        let answers_agree = data.raw.answers_agree;
        // The interim analyses decide on throughput alone.
        self.numbers[contrast_idx].push(data.raw.counts());
        self.contrasts[contrast_idx].epochs.push(data);

        let n_epochs = self.numbers[contrast_idx].len();
        let analyses = &self.course.stopping.analyses;
        if !answers_agree {
            let analysis = analyses
                .iter()
                .last()
                .expect("a schedule has an interim analysis");
            self.contrasts[contrast_idx].stopped = Some((analysis, StopCause::Invalid));
        } else if let Some(analysis) = analyses.due(n_epochs) {
            self.contrasts[contrast_idx].stopped = decide(
                &self.course.stopping,
                &self.numbers[contrast_idx],
                self.course.connections,
                analysis,
            )
            .map(|cause| (analysis, cause));
        }
        self.tell(contrast_idx);
    }

    fn tell_warm_up(&mut self, contrast_idx: usize, n_epochs: usize, data: &MeasuredEpoch) {
        let left_at_most = self.left_at_most();
        self.observer.epoch_ended(&Progress {
            contrast: &self.course.names[contrast_idx],
            contrast_idx,
            phase: Phase::WarmUp,
            n_epochs,
            n_epochs_at_most: self.course.warm_up.least_epochs.max(n_epochs),
            epoch: Some(data),
            epoch_theta: None,
            next_analysis: None,
            theta: None,
            left_at_most,
        });
    }

    fn tell(&mut self, contrast_idx: usize) {
        self.least_left = self.left_at_most().min(self.least_left);
        let left_at_most = self.least_left;
        let run = &self.contrasts[contrast_idx];
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
            epoch: run.epochs.last(),
            epoch_theta: numbers.last().and_then(Epoch::theta),
            next_analysis: next_analysis.map(|analysis| analysis.n_epochs),
            theta: rough_theta(numbers),
            left_at_most,
        });
    }

    /// What the contrasts that have not ended need if none ends early.
    fn left_at_most(&self) -> Duration {
        let most = self.course.stopping.analyses.n_max();
        let running = self.contrasts.iter();
        let left: usize = running
            .filter(|it| it.stopped.is_none())
            .map(|it| most.saturating_sub(it.epochs.len()))
            .sum();
        self.epoch_time * u32::try_from(left).unwrap_or(u32::MAX)
    }
}

/// Whether an interim analysis of the epochs so far ends their contrast, and why.
pub(crate) fn decide(
    stopping: &Stopping,
    epochs: &[Epoch],
    connections: usize,
    analysis: InterimAnalysis,
) -> Option<StopCause> {
    let primary = primary(&Input {
        epochs,
        connections: connections as u32,
        alpha: analysis.alpha,
        delta: stopping.delta,
        invalid: Vec::new(),
        stopped_early: false,
    });
    let Some(theta) = primary.theta else {
        // No interim analysis follows the last: without an estimate, too, it ends the contrast.
        return analysis.is_last.then_some(StopCause::Last);
    };
    // What may hang on disturbed epochs, of which there are too few or too many, waits for more of them.
    let has_answer = theta.has_interval() && !primary.is_unchecked();
    let verdict = if has_answer || analysis.is_last {
        primary.verdict
    } else {
        Verdict::Inconclusive
    };
    match stopping.rule.decide(analysis, &theta, verdict) {
        Decision::Continue => None,
        Decision::Stop(cause) => Some(cause),
    }
}

/// For the progress line only: never decides anything.
pub(crate) fn rough_theta(epochs: &[Epoch]) -> Option<Estimate> {
    let thetas: Vec<f64> = epochs.iter().filter_map(Epoch::theta).collect();
    hodges_lehmann::estimate(&thetas, 0.05)
}

fn total_rate(data: &MeasuredEpoch) -> f64 {
    let rates: Vec<f64> = data.raw.counts().slices.iter().map(rate_per_s).collect();
    mean(&rates)
}

/// Whether the median of the last four is within 3 % of the four before.
fn is_steady(rates: &[f64]) -> bool {
    let last = rates
        .len()
        .checked_sub(8)
        .map(|from| rates[from..].to_vec());
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
        assert!(is_steady(&[
            100.0, 100.0, 100.0, 100.0, 102.0, 102.0, 102.0, 102.0
        ]));
        assert!(!is_steady(&[
            100.0, 100.0, 100.0, 100.0, 104.0, 104.0, 104.0, 104.0
        ]));
    }
}
