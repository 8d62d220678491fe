//! The effect and the disturbances of each single epoch, from the same numbers as the verdict.

use looptax_model::record::Comparison;
use looptax_model::stats::{Epoch, Side, disturbed_epochs, ln_cost, noise_shares, tax_pct};
use looptax_report::html::EpochShown;

/// Returns the epochs of all pairs of arms, one pair after the other.
pub(super) fn epochs_shown(comparison: &Comparison) -> Vec<EpochShown> {
    let n_others = comparison.arms.len().saturating_sub(1) as u32;
    let pairs = (1..=n_others.max(1)).map(|other| [0, other]);
    pairs.flat_map(|pair| of_pair(comparison, pair)).collect()
}

fn of_pair(comparison: &Comparison, pair: [u32; 2]) -> Vec<EpochShown> {
    let raw = &comparison.raw;
    let epochs = raw.counts(pair, |_| Vec::new());
    let noisy = disturbed_epochs(&epochs);
    let numbered = raw.of_pair(pair).map(|(idx, _)| idx);
    let shown = epochs.iter().zip(numbered).enumerate();
    shown.map(|(idx, (epoch, epoch_idx))| epoch_shown(epoch, epoch_idx, pair, noisy.contains(&idx))).collect()
}

fn epoch_shown(epoch: &Epoch, epoch_idx: usize, pair: [u32; 2], is_noisy: bool) -> EpochShown {
    let shares = epoch.noise.as_ref().and_then(|noise| noise_shares([noise]));
    let finite = |value: f64| value.is_finite().then_some(value);
    let cost_ns = |side| {
        let ln_ns = epoch.typical(side, |slice| Some(ln_cost(slice)))?;
        finite(ln_ns.exp())
    };
    EpochShown {
        epoch_idx,
        pair,
        effect_pct: epoch.theta().map(tax_pct).and_then(finite),
        cost_ns: Side::BOTH.map(cost_ns),
        steal_pct: shares.map(|it| it.steal_pct),
        foreign_pct: shares.and_then(|it| it.foreign_pct),
        is_noisy,
    }
}
