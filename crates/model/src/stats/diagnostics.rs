//! Diagnostics of the measurement, computed from its own data: order, drift, noise, stalls, modes.
//!
//! The diagnostics never change the estimate. `judge` uses three of them: disturbed epochs and the transient after the
//! guard can withdraw a verdict, and two modes make the size of an effect uncertain. Each question has its own file;
//! [`Diagnostics::from_epochs`] computes all diagnostics of a run.

mod guard;
mod little;
mod modes;
mod noise;
mod order;
mod spread;
mod stalls;
mod trend;

pub use guard::{EARLY_NS, GuardTransient, guard_transient};
pub use little::littles_law;
pub use modes::{RateModes, rate_modes};
pub use noise::{NoiseShares, disturbed_epochs, noise_shares, noisy_epochs};
pub use order::{OrderEffect, order_effect};
pub use spread::{SamplingFloor, mad_sd, sampling_floor, totals_disagree};
pub use stalls::{Stall, stalls};
pub use trend::{Trend, lag1_autocorrelation, trend};

use crate::stats::epoch::{Epoch, Side, rate_per_s};

/// The diagnostics of a run, in alphabetical order of the files.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostics {
    /// Whether the rate in the first 10 ms of the windows differs from the rate in the rest.
    pub guard_transient: Option<GuardTransient>,
    /// N·mean latency / (C·active time), `[baseline, other]`: 0.97 to 1.00 if the client always waits for the server.
    pub littles_law: [Option<f64>; 2],
    /// Two modes of the slices' rates, `[baseline, other]`.
    pub rate_modes: [Option<RateModes>; 2],
    /// CPU time that other processes and the hypervisor used, over the whole run.
    pub noise: Option<NoiseShares>,
    /// Epochs in which the hypervisor or other processes used too much CPU time, by the same rule that withdraws
    /// verdicts.
    pub noisy_epochs: Vec<usize>,
    /// Whether θ depends on which arm ran first.
    pub order_effect: Option<OrderEffect>,
    /// Standard deviation of θ over the epochs, estimated so that outliers do not affect it.
    pub theta_sd: Option<f64>,
    /// The half width that θ's interval would have if counting noise were the only noise.
    pub sampling_floor: Option<SamplingFloor>,
    /// Slices whose last answers took longer than half a slice.
    pub stalls: Vec<Stall>,
    /// Whether θ drifts over the epochs.
    pub trend: Option<Trend>,
    /// Correlation of θ with the θ of the previous epoch.
    pub lag1_autocorrelation: Option<f64>,
}

impl Diagnostics {
    /// Computes all diagnostics of `epochs`. `thetas` has the θ of each epoch that has a θ, in order. `noisy_epochs`
    /// has the indexes of the epochs in which the hypervisor or other processes used too much CPU time. `connections`
    /// is C, the number of connections per arm. `alpha` is the level of the run's intervals.
    pub fn from_epochs(
        epochs: &[Epoch],
        thetas: &[f64],
        noisy_epochs: Vec<usize>,
        connections: u32,
        alpha: f64,
    ) -> Self {
        Self {
            guard_transient: guard_transient(epochs, alpha),
            littles_law: Side::BOTH.map(|side| littles_law(epochs, side, connections)),
            rate_modes: Side::BOTH.map(|side| rate_modes(&slice_rates(epochs, side))),
            noise: noise_shares(epochs.iter().filter_map(|epoch| epoch.noise.as_ref())),
            noisy_epochs,
            order_effect: order_effect(epochs),
            theta_sd: mad_sd(thetas),
            sampling_floor: sampling_floor(epochs),
            stalls: stalls(epochs),
            trend: trend(thetas),
            lag1_autocorrelation: lag1_autocorrelation(thetas),
        }
    }
}

fn slice_rates(epochs: &[Epoch], side: Side) -> Vec<f64> {
    let slices = epochs.iter().flat_map(|epoch| epoch.slices_of(side));
    slices.map(rate_per_s).collect()
}
