//! Computes the whole judgement of a run from its epochs.
//!
//! This file combines the estimators, and contains no formula itself. The live run and a later analysis of the record
//! call the same function with the same numbers, and get the same digits.

mod input;
mod parts;
mod primary;
mod secondary;
mod sides;
mod warnings;

pub use input::Input;
pub use primary::{Disturbance, Primary, primary};
pub(crate) use secondary::cpu_us;
pub use secondary::{CpuTax, Metric, Percentile, Secondary, dearer_by_cpu};
pub use sides::SideSummary;
pub(crate) use sides::mean_latency_us;
pub use warnings::Warning;

use crate::stats::diagnostics::{Diagnostics, disturbed_epochs};
use crate::stats::epoch::{Epoch, Side};
use crate::stats::estimate::{Estimate, tax_pct};
use crate::stats::hodges_lehmann;
use crate::stats::totals;
use crate::stats::verdict::{Direction, Reason, UncertainSize, Verdict};

/// The judgement of one comparison. A positive figure means that the other arm loses.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The arm that loses; `None` if this is not known.
    pub direction: Option<Direction>,
    pub reason: Reason,
    /// The range of the effect's size, if the direction of the effect is known but its size is uncertain.
    pub uncertain_size: Option<UncertainSize>,
    /// The epochs in which other processes or the hypervisor used much of the machine.
    pub disturbance: Option<Disturbance>,
    /// θ = ln(baseline / other) of the typical throughput; `None` if there is no complete epoch.
    pub theta: Option<Estimate>,
    /// The typical throughput tax in percent.
    pub tax_pct: Option<Estimate>,
    /// ln(baseline / other) of the total throughput, which includes stalls.
    pub totals: Option<Estimate>,
    /// The total throughput tax in percent.
    pub totals_tax_pct: Option<Estimate>,
    /// Mean latency tax in µs per request at C connections.
    pub latency_us: Option<Estimate>,
    /// CPU tax in µs per request.
    pub cpu_us: CpuTax,
    /// The arm that needs more CPU time: see [`dearer_by_cpu`].
    pub dearer_by_cpu: Option<Direction>,
    /// The percentiles p50, p90, p99 and p99.9, in this order.
    pub percentiles: Vec<Percentile>,
    /// The figures of each arm, `[baseline, other]`.
    pub sides: [SideSummary; 2],
    /// The secondary metrics with their p-values, adjusted by Holm's method.
    pub secondary: Vec<Secondary>,
    pub diagnostics: Diagnostics,
    pub warnings: Vec<Warning>,
}

/// Judges one comparison.
///
/// Estimands: the typical ratio of throughputs over epochs (θ, on which the verdict is based), the ratio of totals,
/// differences per request in µs, and ratios of latency quantiles. Each estimate has an interval of level 1 − α.
/// Assumes that a fair coin drew the order of the arms in each epoch. An epoch that was cut short (see
/// [`Epoch::contrast`]) is used only for latencies, stalls and noise. Without epochs, the judgement is inconclusive or
/// invalid and has no figures.
///
/// Deterministic: the same input gives the same bits.
///
/// Example: ten epochs, 110,000/s against 100,000/s without noise: θ = 0.0953, a tax of 9.09 %, a latency tax of 0.909
/// µs with one connection, and the verdict [`Verdict::Difference`] with the other arm slower.
pub fn judge(input: &Input) -> Judgement {
    let primary = primary(input);
    let thetas: Vec<f64> = input.epochs.iter().filter_map(Epoch::theta).collect();
    let noisy_epochs = disturbed_epochs(input.epochs);
    let diagnostics = Diagnostics::from_epochs(input.epochs, &thetas, noisy_epochs, input.connections, input.alpha);
    let totals = totals_theta(input);
    let warnings = warnings::collect(input, &primary, totals.as_ref(), &diagnostics);
    let percentiles = secondary::percentiles(input);
    let cpu = secondary::cpu(input);
    Judgement {
        dearer_by_cpu: dearer_by_cpu(input, &primary),
        verdict: primary.verdict,
        direction: primary.direction,
        reason: primary.reason,
        uncertain_size: primary.uncertain_size,
        disturbance: primary.disturbance,
        theta: primary.theta,
        tax_pct: primary.theta.map(|theta| theta.map_monotone(tax_pct)),
        totals,
        totals_tax_pct: totals.map(|theta| theta.map_monotone(tax_pct)),
        latency_us: latency_us(input),
        secondary: secondary::adjusted(&cpu, &percentiles, input.alpha),
        cpu_us: cpu.tax,
        percentiles,
        sides: Side::BOTH.map(|side| SideSummary::from_input(input, side)),
        diagnostics,
        warnings,
    }
}

/// Computes θ of the totals, only from throughput: if the verdict is computed from response times, the server does not
/// set the rate.
fn totals_theta(input: &Input) -> Option<Estimate> {
    if input.epochs.iter().any(Epoch::is_by_response) {
        return None;
    }
    let [baseline, other] = Side::BOTH.map(|side| input.totals_of(side));
    totals::log_ratio(&baseline, &other, input.alpha)
}

fn latency_us(input: &Input) -> Option<Estimate> {
    let latency = |slice: &_| Some(sides::mean_latency_us(slice, input.connections));
    let epochs = input.epochs.iter();
    let effects: Vec<f64> = epochs.filter_map(|epoch| epoch.contrast(latency)).collect();
    hodges_lehmann::estimate(&effects, input.alpha)
}
