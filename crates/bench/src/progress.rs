//! The state of an experiment that an observer sees while it runs.

use std::time::Duration;

use looptax_model::stats::Estimate;

use crate::budget::Replanned;
use crate::slices::MeasuredEpoch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    WarmUp,
    Measuring,
}

/// The state after an epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress<'a> {
    /// The contrast whose epoch just ended.
    pub contrast: &'a str,
    /// The contrast's position in the plan.
    pub contrast_idx: usize,
    pub phase: Phase,
    pub n_epochs: usize,
    pub n_epochs_at_most: usize,
    /// The epoch that just ended. It has no latencies if the plan's cap on latencies was reached.
    pub epoch: &'a MeasuredEpoch,
    /// The log ratio θ of this epoch only (see METHOD.md), if both sides have answers.
    pub epoch_theta: Option<f64>,
    /// The number of epochs of this contrast at its next interim analysis; `None` in the warm-up, and after the
    /// contrast has ended.
    pub next_analysis: Option<usize>,
    /// The current θ, from the latest interim analysis or a rough estimate from all epochs so far.
    pub theta: Option<Estimate>,
    /// The longest time until all contrasts have ended.
    pub left_at_most: Duration,
}

/// Called after each epoch, in the gap between measurements.
pub trait Observer {
    fn epoch_ended(&mut self, progress: &Progress<'_>);

    /// Called when the warm-up has shown that the plan cannot be kept.
    fn replanned(&mut self, _replanned: &Replanned) {}
}

/// An observer that shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn epoch_ended(&mut self, _: &Progress<'_>) {}
}
