//! The state of an experiment that an observer may see while it runs.

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
    /// The contrast that just had an epoch.
    pub contrast: &'a str,
    /// Its position in the plan.
    pub contrast_idx: usize,
    pub phase: Phase,
    pub n_epochs: usize,
    pub n_epochs_at_most: usize,
    /// The epoch that just ended. Its latencies are empty beyond the plan's cap.
    pub epoch: &'a MeasuredEpoch,
    /// θ of only that epoch, if both sides have answers.
    pub epoch_theta: Option<f64>,
    /// Epochs of this contrast at its next interim analysis; `None` in the warm-up, and when it has ended.
    pub next_analysis: Option<usize>,
    /// The running θ, from the latest interim analysis or a rough estimate from all epochs so far.
    pub theta: Option<Estimate>,
    /// Longest time until all contrasts end.
    pub left_at_most: Duration,
}

/// Called after each epoch, in the gap between measurements.
pub trait Observer {
    fn epoch_ended(&mut self, progress: &Progress<'_>);

    /// The warm-up has shown that the plan does not hold.
    fn replanned(&mut self, _replanned: &Replanned) {}
}

/// An observer that shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn epoch_ended(&mut self, _: &Progress<'_>) {}
}
