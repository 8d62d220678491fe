//! The whole experiment: warm-up, then epochs of all contrasts in random order, interim analyses, the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_record::METHOD_VERSION;
use looptax_stats::{
    Decision, Estimate, Input, InterimAnalysis, Rule, StopCause, Verdict, hodges_lehmann, mean,
    median, primary, quantile_of, rate_per_s,
};
use looptax_stats::{Epoch, Quantile, Side};

use crate::clock::now_ns;
use crate::connect::Connector;
use crate::cores::cores_for;
use crate::epoch::{EpochOrder, EpochRunner, MeasuredEpoch};
use crate::error::BenchError;
use crate::plan::{Plan, Stopping};
use crate::progress::{Observer, Phase, Progress};
use crate::schedule::round_order;
use crate::shape::Shape;

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

/// What the experiment gave.
#[derive(Debug)]
pub struct Outcome {
    /// By contrast.
    pub contrasts: Vec<ContrastRun>,
    /// Slices as they were after the warm-up.
    pub shape: Shape,
    /// Warm-up epochs of each contrast.
    pub n_warm_up_epochs: usize,
    /// All requests, those of warm-up, priming and guards too: what the server should have counted.
    /// An epoch that was interrupted is not in it.
    pub n_requests: u64,
    /// Whether somebody asked us to stop.
    pub is_interrupted: bool,
    /// What went wrong, when something did; the contrasts hold the epochs before it.
    pub failure: Option<BenchError>,
}

/// Runs the experiment until every contrast has ended, its time is over, `stop` is set, or a request
/// fails.
///
/// # Errors
/// [`BenchError::Machine`] when the cores cannot be read or do not suffice; everything later is in
/// [`Outcome::failure`], beside the epochs that were measured before it.
pub fn run(
    plan: &Plan,
    connector: &mut dyn Connector,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome, BenchError> {
    let cores = cores_for(plan.placement)?;
    let runner = EpochRunner {
        plan,
        cores: &cores,
        stop,
        run_start_ns: now_ns(),
        buffers: Vec::new(),
    };
    let mut experiment = Experiment {
        plan,
        runner,
        connector,
        observer,
        outcome: Outcome {
            contrasts: plan
                .contrasts
                .iter()
                .map(|_| ContrastRun {
                    epochs: Vec::new(),
                    stopped: None,
                })
                .collect(),
            shape: plan.shape,
            n_warm_up_epochs: 0,
            n_requests: 0,
            is_interrupted: false,
            failure: None,
        },
        numbers: plan.contrasts.iter().map(|_| Vec::new()).collect(),
        epoch_time: plan.shape.epoch(),
        least_left: Duration::MAX,
        sample_room_bytes: plan.max_sample_bytes,
    };
    if let Err(failure) = experiment.warm_up().and_then(|()| experiment.measure()) {
        experiment.outcome.failure = Some(failure);
    }
    experiment.outcome.is_interrupted = stop.load(Ordering::Relaxed);
    Ok(experiment.outcome)
}

struct Experiment<'a> {
    plan: &'a Plan,
    runner: EpochRunner<'a>,
    connector: &'a mut dyn Connector,
    observer: &'a mut dyn Observer,
    outcome: Outcome,
    /// By contrast: the counts of its epochs, for the interim analyses.
    numbers: Vec<Vec<Epoch>>,
    /// How long the last epoch took.
    epoch_time: Duration,
    /// The least time left that was told: a bound does not grow.
    least_left: Duration,
    /// What is left of the cap on latencies.
    sample_room_bytes: usize,
}

impl Experiment<'_> {
    fn is_stopped(&self) -> bool {
        self.runner.stop.load(Ordering::Relaxed)
    }

    fn epoch(
        &mut self,
        contrast_idx: usize,
        epoch: u64,
    ) -> Result<Option<MeasuredEpoch>, BenchError> {
        let shape = self.outcome.shape;
        let order = EpochOrder {
            contrast_idx,
            epoch,
            shape,
            n_slices: shape.n_slices(),
        };
        let start_ns = now_ns();
        let data = self.runner.run(&order, self.connector)?;
        self.epoch_time = Duration::from_nanos(now_ns() - start_ns);
        self.outcome.n_requests += data.as_ref().map_or(0, MeasuredEpoch::n_requests);
        Ok(data)
    }

    /// Unmeasured epochs of all contrasts in turn, until the rate stands still or time is up.
    fn warm_up(&mut self) -> Result<(), BenchError> {
        let start_ns = now_ns();
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); self.plan.contrasts.len()];
        for round in 0.. {
            for (contrast_idx, rates) in rates.iter_mut().enumerate() {
                let Some(data) = self.epoch(contrast_idx, WARM_UP_EPOCHS + round)? else {
                    return Ok(());
                };
                rates.push(total_rate(&data));
                if self.plan.may_adapt_shape && round < 2 {
                    self.outcome.shape = adapted(self.outcome.shape, &data);
                }
                self.tell_warm_up(contrast_idx, round as usize + 1, &data);
            }
            self.outcome.n_warm_up_epochs = round as usize + 1;
            let spent = Duration::from_nanos(now_ns() - start_ns);
            let warm_up = self.plan.warm_up;
            let enough =
                self.outcome.n_warm_up_epochs >= warm_up.least_epochs && spent >= warm_up.least;
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
            let has_ended = self.outcome.contrasts.iter().all(|it| it.stopped.is_some());
            if has_ended || self.is_stopped() || self.plan.stopping.is_over() {
                return Ok(());
            }
            for contrast_idx in round_order(self.plan.seed, round, self.plan.contrasts.len()) {
                if self.outcome.contrasts[contrast_idx].stopped.is_some() {
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
        self.outcome.contrasts[contrast_idx].epochs.push(data);

        let n_epochs = self.numbers[contrast_idx].len();
        let analyses = &self.plan.stopping.analyses;
        if !answers_agree {
            let analysis = analyses
                .iter()
                .last()
                .expect("a schedule has an interim analysis");
            self.outcome.contrasts[contrast_idx].stopped = Some((analysis, StopCause::Invalid));
        } else if let Some(analysis) = analyses.due(n_epochs) {
            self.outcome.contrasts[contrast_idx].stopped = decide(
                &self.plan.stopping,
                &self.numbers[contrast_idx],
                self.plan.connections,
                analysis,
            )
            .map(|cause| (analysis, cause));
        }
        self.tell(contrast_idx);
    }

    fn tell_warm_up(&mut self, contrast_idx: usize, n_epochs: usize, data: &MeasuredEpoch) {
        let left_at_most = self.left_at_most();
        self.observer.epoch_ended(&Progress {
            contrast: &self.plan.contrasts[contrast_idx].name,
            contrast_idx,
            phase: Phase::WarmUp,
            n_epochs,
            n_epochs_at_most: self.plan.warm_up.least_epochs.max(n_epochs),
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
        let run = &self.outcome.contrasts[contrast_idx];
        let n_epochs = run.epochs.len();
        let numbers = &self.numbers[contrast_idx];
        let analyses = &self.plan.stopping.analyses;
        let next_analysis = analyses.after(n_epochs).filter(|_| run.stopped.is_none());
        self.observer.epoch_ended(&Progress {
            contrast: &self.plan.contrasts[contrast_idx].name,
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
        let most = self.plan.stopping.analyses.n_max();
        let running = self.outcome.contrasts.iter();
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
        rule: Rule::for_method(METHOD_VERSION),
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

/// The shape fitted to what a warm-up epoch saw.
fn adapted(shape: Shape, epoch: &MeasuredEpoch) -> Shape {
    let counts = epoch.raw.counts();
    let slowest = Side::BOTH
        .into_iter()
        .map(|side| mean(&counts.slices_of(side).map(rate_per_s).collect::<Vec<_>>()))
        .fold(f64::INFINITY, f64::min);
    let p99 = epoch.samples.iter();
    let p99 = p99
        .filter_map(|samples| quantile_of(&[samples], Quantile::P99))
        .max();
    shape.adapted(
        slowest,
        p99.map_or(Duration::ZERO, |ns| Duration::from_nanos(u64::from(ns))),
        Duration::from_micros(epoch.raw.reconnect_us + epoch.raw.prime_us),
    )
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
