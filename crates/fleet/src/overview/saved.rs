//! The error level (alpha) of all intervals, and the form in which intervals are stored in the overview.

use looptax_model::stats::Estimate;

pub(super) const ALPHA: f64 = 0.05;

pub(super) fn saved(estimate: &Estimate) -> looptax_model::record::Estimate {
    let finite = |end: f64| Some(end).filter(|it| it.is_finite());
    looptax_model::record::Estimate {
        value: estimate.value,
        lo: finite(estimate.lo),
        hi: finite(estimate.hi),
        n: estimate.n as u64,
    }
}
