//! The experiment with requests: the load engine's epochs over the connections that a connector opens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_model::stats::{InterimAnalyses, Quantile, Side, mean, quantile_of, rate_per_s};

use crate::budget::{Replanned, WarmedUp, replan};
use crate::clock::now_ns;
use crate::connect::Connector;
use crate::cores::cores_for;
use crate::epoch::{EpochOrder, EpochRunner, MeasuredEpoch};
use crate::error::BenchError;
use crate::experiment::{ContrastRun, Course, EpochSource, Experiment};
use crate::plan::Plan;
use crate::progress::Observer;
use crate::shape::Shape;

/// Rounds of the warm-up whose epochs change the shape of the next ones.
const ADAPTING_ROUNDS: u64 = 2;

/// What the experiment gave.
#[derive(Debug)]
pub struct Outcome {
    pub contrasts: Vec<ContrastRun>,
    /// Slices as they were after the warm-up.
    pub shape: Shape,
    /// The interim analyses as they were after the warm-up.
    pub analyses: InterimAnalyses,
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
    let requests = Requests {
        runner,
        connector,
        shape: plan.shape,
        beside: Duration::ZERO,
        sent: 0,
    };
    let names = plan.contrasts.iter().map(|it| it.name.clone());
    let course = Course {
        seed: plan.seed,
        names: names.collect(),
        warm_up: plan.warm_up,
        stopping: plan.stopping.clone(),
        connections: plan.connections,
        max_sample_bytes: plan.max_sample_bytes,
    };
    let mut experiment = Experiment::new(course, requests, plan.shape.epoch(), observer, stop);
    let failure = experiment.conduct().err();
    Ok(Outcome {
        contrasts: experiment.contrasts,
        shape: experiment.source.shape,
        analyses: experiment.course.stopping.analyses,
        n_warm_up_epochs: experiment.n_warm_up_epochs,
        n_requests: experiment.source.sent,
        is_interrupted: stop.load(Ordering::Relaxed),
        failure,
    })
}

/// Epochs of requests.
struct Requests<'a> {
    runner: EpochRunner<'a>,
    connector: &'a mut dyn Connector,
    shape: Shape,
    /// What the last epoch took beside its slices.
    beside: Duration,
    /// Requests of all its epochs.
    sent: u64,
}

impl EpochSource for Requests<'_> {
    fn epoch(
        &mut self,
        contrast_idx: usize,
        epoch: u64,
    ) -> Result<Option<MeasuredEpoch>, BenchError> {
        let order = EpochOrder {
            contrast_idx,
            epoch,
            shape: self.shape,
            n_slices: self.shape.n_slices(),
        };
        let start_ns = now_ns();
        let data = self.runner.run(&order, self.connector)?;
        let spent = Duration::from_nanos(now_ns() - start_ns);
        self.beside = spent.saturating_sub(self.shape.epoch());
        self.sent += data.as_ref().map_or(0, MeasuredEpoch::n_requests);
        Ok(data)
    }

    fn adapt(&mut self, round: u64, epoch: &MeasuredEpoch) {
        let plan = self.runner.plan;
        if !plan.may_adapt_shape || round >= ADAPTING_ROUNDS {
            return;
        }
        let n_rounds = ADAPTING_ROUNDS.min(plan.warm_up.least_epochs as u64);
        let reconnect_us = epoch.raw.reconnect_us + epoch.raw.prime_us;
        // The first to connect has the server start what it keeps: a pooler its own connections.
        let reconnect_us = if round + 1 < n_rounds {
            0
        } else {
            reconnect_us
        };
        let p99 = p99(epoch);
        let reconnect = Duration::from_micros(reconnect_us);
        let grown = self.shape.adapted(slowest_per_s(epoch), p99, reconnect);
        let least = plan.shape.slice.max(p99 * 10);
        self.shape = plan.budget.map_or(grown, |budget| {
            budget.shortened(grown, plan.contrasts.len(), least)
        });
    }

    fn replan(&self, n_epochs: usize) -> Option<Replanned> {
        let plan = self.runner.plan;
        let seen = WarmedUp {
            shape: [plan.shape, self.shape],
            beside: self.beside,
            n_contrasts: plan.contrasts.len(),
            n_epochs,
        };
        replan(seen, plan.budget)
    }
}

/// Requests per second of an epoch's slower side.
fn slowest_per_s(epoch: &MeasuredEpoch) -> f64 {
    let counts = epoch.raw.counts();
    let rates = Side::BOTH.into_iter();
    let rates = rates.map(|side| mean(&counts.slices_of(side).map(rate_per_s).collect::<Vec<_>>()));
    rates.fold(f64::INFINITY, f64::min)
}

/// The longer p99 of an epoch's sides.
fn p99(epoch: &MeasuredEpoch) -> Duration {
    let p99 = epoch.samples.iter();
    let p99 = p99.filter_map(|samples| quantile_of(&[samples], Quantile::P99));
    let p99 = p99.max();
    p99.map_or(Duration::ZERO, |ns| Duration::from_nanos(u64::from(ns)))
}
