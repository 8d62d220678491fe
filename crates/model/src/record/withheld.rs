//! The facts for a sentence about a withheld verdict: a verdict that is inconclusive or invalid.

use crate::stats::range::{Amount, Count, ProperPercent, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Comparison, Direction, EPOCHS_PER_UNSAMPLED, Placement, Reason, Tax, Verdict};

/// A withheld verdict, with the figures for a sentence about the reason and the possible remedies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// The verdict: inconclusive or invalid.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub reason: Reason,
    /// The names of the baseline and the other arm.
    pub arms: [String; 2],
    /// The arm that loses; `null` if this is not known.
    pub direction: Option<Direction>,
    /// The smallest tax that matters, in percent.
    #[serde(deserialize_with = "ProperPercent::read")]
    #[schemars(with = "ProperPercent")]
    pub delta_pct: f64,
    /// Time that one epoch of every pair of arms takes, ms.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub epoch_ms: f64,
    /// Number of epochs that are run for each epoch from which the verdict is computed.
    #[serde(default = "one", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_run_per_counted: u64,
    /// Number of epochs that were run and do not count.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_left_out: u32,
    /// Whether it would help to run both ends on one core; `false` if this was already requested.
    pub same_helps: bool,
}

impl Withheld {
    /// Returns the facts about a withheld verdict; `None` if the verdict is not withheld.
    pub fn for_tax(comparison: &Comparison, tax: &Tax) -> Option<Self> {
        let is_private = comparison.target.private && !comparison.is_of_program();
        matches!(tax.verdict, Verdict::Inconclusive | Verdict::Invalid).then(|| Self {
            verdict: tax.verdict,
            reason: tax.reason.clone(),
            arms: [&tax.baseline, &tax.arm].map(Clone::clone),
            direction: tax.direction,
            delta_pct: comparison.schedule.delta_pct,
            epoch_ms: epoch_ms(comparison),
            n_run_per_counted: if comparison.why.is_empty() { 1 } else { EPOCHS_PER_UNSAMPLED },
            n_left_out: tax.diagnostics.n_epochs_left_out,
            same_helps: comparison.placement.asked != Placement::Same && is_private,
        })
    }
}

fn one() -> u64 {
    1
}

/// Returns the total time of one epoch of every pair of arms, ms. Pairs do not share epochs, so the times of the pairs
/// add up.
fn epoch_ms(comparison: &Comparison) -> f64 {
    let schedule = &comparison.schedule;
    // An epoch has two runs of each arm, if commands or dumps are measured as a whole.
    let runs = comparison.arms.iter().filter_map(|arm| arm.latency_us.mean.known());
    let runs_ms: f64 = runs.map(|us| 2.0 * us.value / 1e3).sum();
    let epoch_ms = match schedule.octets_per_epoch {
        // An epoch starts the application four times, and only a third of each run counts: `slice_ms`. For a load
        // command, only the times of its runs are known.
        0 if comparison.trial.is_some() && schedule.slice_ms > 0.0 => 12.0 * schedule.slice_ms,
        0 => runs_ms,
        octets => 8.0 * f64::from(octets) * (schedule.slice_ms + schedule.guard_ms),
    };
    comparison.tax.len().max(1) as f64 * epoch_ms
}
