//! The warnings that a reader gets in addition to the verdict.
//!
//! Each warning is a fact with its figures; the order is fixed. The report makes sentences from the warnings. Called by
//! `judge`.

use super::{Input, Primary};
use crate::stats::diagnostics::{Diagnostics, noise_shares, totals_disagree};
use crate::stats::epoch::{Epoch, Side};
use crate::stats::estimate::Estimate;

/// If requests are in flight for less than this share of the connections' time, the client itself limits the rate.
const LEAST_LITTLE: f64 = 0.97;
/// At the edges of the windows, Little's ratio can become slightly larger than 1; if it is above this limit, the
/// figures are wrong.
const LARGEST_LITTLE: f64 = 1.03;
/// If an interval is this many times wider than counting noise would make it, the width comes from the environment. An
/// engineering choice.
const ENVIRONMENT_FACTOR: f64 = 3.0;

#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// The run ended at an early interim analysis, so the estimate tends to be too large.
    StoppedEarly {
        /// Number of epochs after which the run ended.
        n_epochs: usize,
    },
    /// Some epochs were cut short and have no θ.
    IncompleteEpochs { n_epochs: usize, n_all: usize },
    /// Typical speed and total throughput disagree, because rare stalls affect one arm.
    TotalsDisagree { theta: Estimate, totals: Estimate },
    /// The last answers of some slices took longer than half a slice.
    Stalls {
        /// Number of stalls, `[baseline, other]`.
        n_stalls: [usize; 2],
        longest_ms: f64,
    },
    /// The hypervisor or other processes used CPU time in some windows of epochs.
    NoisyEpochs {
        n_noisy: usize,
        n_all: usize,
        /// Steal in these epochs, in percent of capacity.
        steal_pct: f64,
        /// Foreign CPU time in these epochs, in percent of capacity; `None` if it is not known.
        foreign_pct: Option<f64>,
    },
    /// θ depends on which arm ran first, so the guard is too short. This does not bias θ.
    OrderEffect { p_value: f64 },
    /// The ratio of Little's law is not near 1: below 0.97 the client itself limits the rate, and above 1.03 the
    /// figures are wrong.
    LittlesLaw {
        side: Side,
        /// N·latency divided by the connections' time.
        ratio: f64,
    },
    /// The rate jumps between two modes; the figures are in the diagnostics.
    TwoModes { side: Side, ratio: f64 },
    /// The interval is much wider than counting noise can explain. A quieter machine would help more than a longer run.
    EnvironmentLimited {
        /// Half width of the interval divided by the half width of the sampling floor, both at 95 %.
        factor: f64,
    },
}

pub(super) fn collect(
    input: &Input,
    primary: &Primary,
    totals: Option<&Estimate>,
    diagnostics: &Diagnostics,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if input.stopped_early {
        warnings.push(Warning::StoppedEarly { n_epochs: input.epochs.len() });
    }
    warnings.extend(incomplete(input.epochs));
    if let (Some(theta), Some(totals)) = (primary.theta, totals.copied())
        && totals_disagree(&theta, &totals)
    {
        warnings.push(Warning::TotalsDisagree { theta, totals });
    }
    warnings.extend(stalls(diagnostics));
    warnings.extend(noise(input.epochs, diagnostics));
    if let Some(order) = diagnostics.order_effect.filter(crate::stats::OrderEffect::is_clear) {
        warnings.push(Warning::OrderEffect { p_value: order.p_value });
    }
    for side in Side::BOTH {
        warnings.extend(of_side(diagnostics, side));
    }
    warnings.extend(environment(primary, diagnostics));
    warnings
}

fn incomplete(epochs: &[Epoch]) -> Option<Warning> {
    let n_epochs = epochs.iter().filter(|epoch| epoch.groups().is_none()).count();
    (n_epochs > 0).then_some(Warning::IncompleteEpochs { n_epochs, n_all: epochs.len() })
}

fn stalls(diagnostics: &Diagnostics) -> Option<Warning> {
    let stalls = &diagnostics.stalls;
    let longest = stalls.iter().map(|stall| stall.drain_ms).max_by(f64::total_cmp)?;
    Some(Warning::Stalls {
        n_stalls: Side::BOTH.map(|side| stalls.iter().filter(|stall| stall.side == side).count()),
        longest_ms: longest,
    })
}

fn noise(epochs: &[Epoch], diagnostics: &Diagnostics) -> Option<Warning> {
    let noisy = diagnostics.noisy_epochs.iter();
    let shares = noise_shares(noisy.filter_map(|idx| epochs[*idx].noise.as_ref()))?;
    Some(Warning::NoisyEpochs {
        n_noisy: diagnostics.noisy_epochs.len(),
        n_all: epochs.len(),
        steal_pct: shares.steal_pct,
        foreign_pct: shares.foreign_pct,
    })
}

fn of_side(diagnostics: &Diagnostics, side: Side) -> impl Iterator<Item = Warning> {
    let ratio = diagnostics.littles_law[side.idx()];
    let little = ratio.filter(|ratio| !(LEAST_LITTLE..=LARGEST_LITTLE).contains(ratio));
    let modes = diagnostics.rate_modes[side.idx()];
    let little = little.map(|ratio| Warning::LittlesLaw { side, ratio });
    let modes = modes.map(|modes| Warning::TwoModes { side, ratio: modes.ratio });
    little.into_iter().chain(modes)
}

fn environment(primary: &Primary, diagnostics: &Diagnostics) -> Option<Warning> {
    let theta = primary.theta.filter(Estimate::has_interval)?;
    let floor = diagnostics.sampling_floor.filter(|floor| floor.half_width > 0.0)?;
    let factor = theta.half_width() / floor.half_width;
    (factor > ENVIRONMENT_FACTOR).then_some(Warning::EnvironmentLimited { factor })
}
