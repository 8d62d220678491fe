//! Checks whether the guard was long enough, or whether the start of the window still shows the change of arm.
//!
//! Requests in the first 10 ms of each window are counted separately. If these requests change θ, the cause is the
//! change from one arm to the other, not the transport. Called at each interim analysis, and by the rule of `judge`
//! that withdraws verdicts.

use crate::stats::epoch::{Epoch, Side, Slice};
use crate::stats::estimate::Estimate;
use crate::stats::hodges_lehmann;

/// Length of the start of the window whose requests [`Slice::early`] counts.
pub const EARLY_NS: u64 = 10_000_000;
/// If the transient accounts for more than this share of θ, the verdict is withdrawn. The number is an engineering
/// choice.
const LARGEST_SHARE: f64 = 0.25;

/// The rate at the start of the windows compared with the rate in the rest of the windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardTransient {
    /// Rate in the first 10 ms divided by the rate in the rest, `[baseline, other]`; 1 if there is no transient.
    pub ratios: [f64; 2],
    /// The part of θ that comes from the first 10 ms: θ minus the θ without the first 10 ms, estimated by
    /// Hodges-Lehmann over the epochs.
    pub added_theta: Estimate,
}

impl GuardTransient {
    /// Returns whether the transient is real and could account for more than a quarter of `theta`.
    ///
    /// The transient is real if the interval of `added_theta` does not contain zero. Without this condition, counting
    /// noise would withdraw the verdicts on most small effects.
    pub fn may_explain(&self, theta: &Estimate) -> bool {
        let added = &self.added_theta;
        !added.covers(0.0) && added.value.abs() > LARGEST_SHARE * theta.value.abs()
    }
}

/// Estimates the transient after the guard from the epochs that have a θ.
///
/// Ratios: (Σ early/Σ 10 ms) ÷ (Σ rest/Σ (active − 10 ms)) over all slices of an arm. `added_theta`: θ of the whole
/// window and θ of the rest are computed by the same scheme ([`Epoch::theta`]); the estimate is
/// [`hodges_lehmann::estimate`] of the differences per epoch, at level `alpha`. Both θ come from the same epoch, so the
/// noise of the machine cancels. Returns `None` if an arm has no early requests (they were not counted, or are rare),
/// if a window is not longer than 10 ms, or if there is no complete epoch. Also returns `None` if the verdict comes
/// from response times, because the schedule of the load then sets the number of requests.
///
/// Example: in windows of 50 ms both arms have 100 requests per 10 ms, but the other arm has only 50 requests in the
/// first 10 ms. The ratios are 1 and 0.5. Since 450 requests were answered instead of 500, `added_theta` is ln(500/450)
/// = 0.105.
pub fn guard_transient(epochs: &[Epoch], alpha: f64) -> Option<GuardTransient> {
    if epochs.iter().any(Epoch::is_by_response) {
        return None;
    }
    let [Some(baseline), Some(other)] = Side::BOTH.map(|side| ratio(epochs, side)) else {
        return None;
    };
    let added = |epoch: &Epoch| Some(epoch.theta()? - epoch.contrast(ln_ns_per_late_request)?);
    let added: Vec<f64> = epochs.iter().filter_map(added).collect();
    Some(GuardTransient { ratios: [baseline, other], added_theta: hodges_lehmann::estimate(&added, alpha)? })
}

fn ratio(epochs: &[Epoch], side: Side) -> Option<f64> {
    let (mut early, mut early_ns, mut late, mut late_ns) = (0, 0, 0, 0);
    for slice in epochs.iter().flat_map(|epoch| epoch.slices_of(side)) {
        early += slice.early;
        early_ns += EARLY_NS;
        late += late_requests(slice);
        late_ns += slice.active_ns.checked_sub(EARLY_NS)?;
    }
    let ratio = (early as f64 / early_ns as f64) / (late as f64 / late_ns as f64);
    (early > 0 && ratio.is_finite()).then_some(ratio)
}

/// Computes [`crate::stats::ln_ns_per_request`] for the window without its first 10 ms.
fn ln_ns_per_late_request(slice: &Slice) -> Option<f64> {
    let late_ns = slice.active_ns.checked_sub(EARLY_NS).filter(|ns| *ns > 0)?;
    Some((late_ns as f64 / crate::stats::epoch::counted(late_requests(slice))).ln())
}

fn late_requests(slice: &Slice) -> u64 {
    slice.completions.saturating_sub(slice.early)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::epoch::Response;
    use crate::stats::vectors::{close, plain_slice};

    /// Makes epochs of 50 ms slices with `early` requests in the first 10 ms and 400 requests after them.
    fn epochs(early: [u64; 2]) -> Vec<Epoch> {
        let order = [1, 0, 0, 1, 0, 1, 1, 0].map(|idx| Side::BOTH[idx]);
        let slice = |side: Side| {
            let early = early[side.idx()];
            Slice { early, ..plain_slice(side, 400 + early, 50_000_000) }
        };
        let epoch = Epoch { slices: order.map(slice).to_vec(), latencies_ns: [vec![], vec![]], noise: None };
        vec![epoch; 8]
    }

    fn theta(value: f64) -> Estimate {
        Estimate::without_interval(value, 8)
    }

    #[test]
    fn a_slow_start_of_one_arm_is_found_and_sized() {
        let found = guard_transient(&epochs([100, 50]), 0.05).unwrap();
        close(found.ratios[0], 1.0, 1e-12);
        close(found.ratios[1], 0.5, 1e-12);
        close(found.added_theta.value, (500.0_f64 / 450.0).ln(), 1e-12);
        assert!(found.may_explain(&theta(0.4)) && found.may_explain(&theta(-0.4)));
        assert!(!found.may_explain(&theta(0.5)));
    }

    #[test]
    fn a_slow_start_of_both_arms_is_no_objection() {
        let found = guard_transient(&epochs([50, 50]), 0.05).unwrap();
        close(found.ratios[0], 0.5, 1e-12);
        assert!(!found.may_explain(&theta(0.001)));
    }

    #[test]
    fn a_transient_within_its_noise_is_no_objection() {
        // Sometimes one arm starts slowly and sometimes the other, so the interval contains zero.
        let turns = [epochs([100, 50]), epochs([50, 100])].concat();
        let found = guard_transient(&turns, 0.05).unwrap();
        assert!(found.added_theta.covers(0.0) && !found.may_explain(&theta(0.001)));
        let few = guard_transient(&epochs([100, 50])[..3], 0.05).unwrap();
        assert!(!few.may_explain(&theta(0.001)));
    }

    #[track_caller]
    fn check_none(epochs: &[Epoch]) {
        assert_eq!(guard_transient(epochs, 0.05), None);
    }

    #[test]
    fn requests_on_a_schedule_tell_of_no_transient() {
        let mut epochs = epochs([100, 50]);
        for slice in epochs.iter_mut().flat_map(|epoch| &mut epoch.slices) {
            slice.response = Some(Response { median_ns: 100_000, sum_ns: 100_000 * slice.completions });
        }
        check_none(&epochs);
    }

    #[test]
    fn what_was_not_counted_is_no_transient() {
        check_none(&[]);
        check_none(&epochs([0, 0]));
        check_none(&epochs([100, 0]));
        let mut short = epochs([100, 100]);
        short[3].slices[2].active_ns = EARLY_NS - 1;
        check_none(&short);
    }
}
