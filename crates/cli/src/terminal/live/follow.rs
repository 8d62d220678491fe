//! Adds an epoch to the live view.

use looptax_bench::{MeasuredEpoch, Phase, Progress};
use looptax_model::record::{Epoch, Estimate, Slice};
use looptax_model::stats::{Side, tax_pct};
use looptax_report::live::{Pair, View};

/// Updates the live view after an epoch.
pub(super) fn follow(view: &mut View, progress: &Progress<'_>) {
    view.news.clear();
    view.left_s = (progress.phase == Phase::Measuring).then_some(progress.left_at_most.as_secs_f64());
    let Some(pair) = view.pairs.get_mut(progress.contrast_idx) else {
        return;
    };
    progress.contrast.clone_into(&mut pair.name);
    let was_warming_up = pair.is_warming_up;
    pair.is_warming_up = progress.phase == Phase::WarmUp;
    if was_warming_up && !pair.is_warming_up {
        // The epochs of the warm-up were shown only as a sign that the run is working; they do not count, so they are
        // removed.
        forget(pair);
    }
    pair.n_epochs = progress.n_epochs;
    pair.n_epochs_at_most = progress.n_epochs_at_most;
    pair.next_look = progress.next_analysis;
    pair.tax_pct = estimate_so_far(progress);
    pair.taxes_pct.extend(progress.epoch_theta.map(tax_pct));
    add(pair, progress.epoch);
}

/// Returns the tax over all epochs so far, in percent.
pub(in crate::terminal) fn estimate_so_far(progress: &Progress<'_>) -> Option<Estimate> {
    progress.theta.map(|theta| {
        let tax = theta.map_monotone(tax_pct);
        let end = |end: f64| end.is_finite().then_some(end);
        Estimate { value: tax.value, lo: end(tax.lo), hi: end(tax.hi), n: tax.n as u64 }
    })
}

fn forget(pair: &mut Pair) {
    for arm in &mut pair.arms {
        arm.rates_per_s.clear();
        arm.latencies_ns.reset();
    }
}

fn add(pair: &mut Pair, epoch: &MeasuredEpoch) {
    for side in Side::BOTH {
        let arm = &mut pair.arms[side.idx()];
        arm.rates_per_s.extend(rate_per_s(&epoch.raw, side));
        for ns in &epoch.samples[side.idx()] {
            arm.latencies_ns.saturating_record(u64::from(*ns));
        }
    }
}

/// Returns the answers per second of one side, over the time of its slices; `None` if this time is zero.
pub(in crate::terminal) fn rate_per_s(epoch: &Epoch, side: Side) -> Option<f64> {
    let sum = |of: fn(&Slice) -> u64| epoch.slices_of(side).map(of).sum::<u64>();
    let active_ns = sum(|slice| slice.active_ns);
    let n_answers = sum(|slice| slice.completions);
    (active_ns > 0).then(|| n_answers as f64 / (active_ns as f64 / 1e9))
}
