//! Total throughput, including stalls: a second figure besides the typical throughput.
//!
//! This file uses sums per epoch that include drain times and drained requests, so that a stall is attributed to the
//! arm in which it occurred. Called by `judge`.

use crate::stats::distributions::t_critical;
use crate::stats::epoch::{Epoch, Side};
use crate::stats::estimate::Estimate;
use crate::stats::moments::{covariance, mean, variance};

/// The totals of one arm in one epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmTotal {
    /// Number of requests that were answered in the active windows and in the drains after them.
    pub requests: f64,
    /// Length of the active windows and the drains, in seconds.
    pub seconds: f64,
}

impl ArmTotal {
    /// Computes the sums of one arm in an epoch.
    pub fn from_epoch(epoch: &Epoch, side: Side) -> Self {
        let sums = epoch.slices_of(side).fold((0, 0), |(requests, ns), slice| {
            (requests + slice.completions + slice.drained, ns + slice.active_ns + slice.drain_ns)
        });
        Self { requests: sums.0 as f64, seconds: sums.1 as f64 / 1e9 }
    }
}

/// Computes ln of the ratio of total throughputs, numerator arm divided by denominator arm, with a t interval.
///
/// Estimand: ln(ΣN₁/Σt₁ ÷ ΣN₂/Σt₂), the ratio over the whole time. The epochs are the clusters: eᵢ = (N₁ᵢ −
/// X₁t₁ᵢ)/mean(N₁) − (N₂ᵢ − X₂t₂ᵢ)/mean(N₂), se = sd(e)/√n, and the interval is ± t(n−1)·se. Assumes independent
/// epochs, and enough epochs for the t approximation; unlike the Hodges-Lehmann interval, this interval is not exact.
///
/// Returns `None` for unequal lengths, if there are no epochs, or if an arm has no requests or no time. For one epoch
/// there is no interval.
///
/// Example: (100 in 1 s, 300 in 3 s) divided by (50 in 1 s, 150 in 3 s) gives ln 2 with se 0.
pub fn log_ratio(numerator: &[ArmTotal], denominator: &[ArmTotal], alpha: f64) -> Option<Estimate> {
    if numerator.len() != denominator.len() {
        return None;
    }
    let (top_rate, top_errors) = linearised(numerator)?;
    let (bottom_rate, bottom_errors) = linearised(denominator)?;
    let pairs = top_errors.iter().zip(bottom_errors);
    let errors: Vec<f64> = pairs.map(|(top, bottom)| top - bottom).collect();
    Some(with_t_interval((top_rate / bottom_rate).ln(), 1.0, &errors, alpha))
}

/// Computes the total throughput of one arm, with a t interval over epochs.
///
/// The formula is ΣN/Σt ± t(n−1)·sd(e)/√n·ΣN/Σt with eᵢ = (Nᵢ − X·tᵢ)/mean(N). The assumptions are those of
/// [`log_ratio`]. Returns `None` if there are no epochs, or if the arm has no requests or no time.
///
/// # Units
/// Requests per second.
pub fn rate_per_s(totals: &[ArmTotal], alpha: f64) -> Option<Estimate> {
    let (rate, errors) = linearised(totals)?;
    Some(with_t_interval(rate, rate, &errors, alpha))
}

/// Fieller's interval for the ratio of two means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fieller {
    pub ratio: Estimate,
    /// t²·var(mean of the denominator)/mean². If this number is far below 1, the linearised interval is good enough.
    pub g: f64,
}

/// Computes the ratio of the means of paired rates, one pair per epoch, with Fieller's interval.
///
/// Estimand: mean(a)/mean(b). The interval contains all r for which mean(a) − r·mean(b) is within t(n−1) standard
/// errors of zero, with the covariance; it is exact for normal pairs. The interval is unbounded if g ≥ 1. Returns
/// `None` for unequal lengths, for fewer than two pairs, or if the mean of the denominators is zero.
///
/// Example: for equal denominators of 2 and the numerators 1, 2, 3, the result is the t interval of the mean, 2,
/// divided by 2: 1 ± 4.302653·√(1/3)/2 = [−0.242, 2.242], and g = 0.
///
/// # Source
/// Fieller, 1954, "Some problems in interval estimation".
pub fn fieller(numerators: &[f64], denominators: &[f64], alpha: f64) -> Option<Fieller> {
    let n = numerators.len();
    let covariance = covariance(numerators, denominators)? / n as f64;
    let (top, bottom) = (mean(numerators), mean(denominators));
    let (top_var, bottom_var) = (variance(numerators)? / n as f64, variance(denominators)? / n as f64);
    if bottom == 0.0 {
        return None;
    }
    let t_squared = t_critical(alpha, (n - 1) as f64)?.powi(2);
    let g = t_squared * bottom_var / (bottom * bottom);
    let mut ratio = Estimate::without_interval(top / bottom, n);
    if g < 1.0 {
        // The ends are the roots r of (b² − t²v_b)r² − 2(ab − t²c)r + (a² − t²v_a) = 0.
        let leading = bottom * bottom - t_squared * bottom_var;
        let middle = top * bottom - t_squared * covariance;
        let constant = top * top - t_squared * top_var;
        let root = (middle * middle - leading * constant).max(0.0).sqrt();
        ratio.lo = (middle - root) / leading;
        ratio.hi = (middle + root) / leading;
    }
    Some(Fieller { ratio, g })
}

/// Returns the overall rate, and the relative deviation of each epoch from this rate.
fn linearised(totals: &[ArmTotal]) -> Option<(f64, Vec<f64>)> {
    let requests: f64 = totals.iter().map(|total| total.requests).sum();
    let seconds: f64 = totals.iter().map(|total| total.seconds).sum();
    if !(requests > 0.0 && seconds > 0.0) {
        return None;
    }
    let rate = requests / seconds;
    let mean_requests = requests / totals.len() as f64;
    let errors = totals.iter().map(|total| (total.requests - rate * total.seconds) / mean_requests);
    Some((rate, errors.collect()))
}

/// Returns `value` ± t·`scale`·standard error of the mean of `errors`.
fn with_t_interval(value: f64, scale: f64, errors: &[f64], alpha: f64) -> Estimate {
    let n = errors.len();
    let spread = variance(errors).zip(t_critical(alpha, n as f64 - 1.0));
    match spread {
        None => Estimate::without_interval(value, n),
        Some((variance, t)) => {
            let half_width = t * scale * (variance / n as f64).sqrt();
            Estimate { value, lo: value - half_width, hi: value + half_width, n }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::{close, floats, load, v1_epochs};

    fn v1_totals(side: Side) -> Vec<ArmTotal> {
        let epochs = v1_epochs();
        epochs.iter().map(|epoch| ArmTotal::from_epoch(epoch, side)).collect()
    }

    #[test]
    fn sums_agree_with_the_reference() {
        let expected = &load()["V2_totals_ratio_linearised_and_fieller"]["expected"];
        for (side, letter) in [(Side::Baseline, "U"), (Side::Other, "T")] {
            let (n, t) = (format!("N_{letter}"), format!("t_{letter}_s"));
            let pairs = floats(&expected[n]).into_iter().zip(floats(&expected[t]));
            for (total, (requests, seconds)) in v1_totals(side).into_iter().zip(pairs) {
                close(total.requests, requests, 0.0);
                close(total.seconds, seconds, 1e-12);
            }
        }
    }

    #[test]
    fn the_ratio_agrees_with_the_reference() {
        let expected = &load()["V2_totals_ratio_linearised_and_fieller"]["expected"];
        let (top, bottom) = (v1_totals(Side::Baseline), v1_totals(Side::Other));
        let found = log_ratio(&top, &bottom, 0.05).unwrap();
        let ends = floats(&expected["ci95_log"]);
        close(found.value, expected["log_ratio"].as_f64().unwrap(), 1e-5);
        close(found.lo, ends[0], 1e-5);
        close(found.hi, ends[1], 1e-5);
        let se = found.half_width() / expected["t_crit"].as_f64().unwrap();
        close(se, expected["se"].as_f64().unwrap(), 1e-5);
        let pct = found.map_monotone(|x| 100.0 * x.exp_m1());
        close(pct.value, expected["percent"].as_f64().unwrap(), 1e-3);
        close(pct.lo, floats(&expected["ci95_percent"])[0], 1e-3);
        close(pct.hi, floats(&expected["ci95_percent"])[1], 1e-3);
    }

    #[test]
    fn fieller_agrees_with_the_reference() {
        let expected = &load()["V2_totals_ratio_linearised_and_fieller"]["expected"]["fieller"];
        let rates = |side| -> Vec<f64> {
            let totals = v1_totals(side);
            totals.iter().map(|total| total.requests / total.seconds).collect()
        };
        let found = fieller(&rates(Side::Baseline), &rates(Side::Other), 0.05).unwrap();
        close(found.ratio.value, expected["ratio"].as_f64().unwrap(), 1e-5);
        close(found.g, expected["g"].as_f64().unwrap(), 1e-7);
        close(found.ratio.lo, expected["lo"].as_f64().unwrap(), 1e-5);
        close(found.ratio.hi, expected["hi"].as_f64().unwrap(), 1e-5);
    }

    #[test]
    fn fieller_has_no_bound_when_the_denominator_may_be_zero() {
        let found = fieller(&[1.0, 2.0, 3.0], &[-1.0, 0.1, 1.2], 0.05).unwrap();
        assert!(found.g >= 1.0 && !found.ratio.has_interval());
        let steady = fieller(&[1.0, 2.0, 3.0], &[2.0; 3], 0.05).unwrap();
        close(steady.ratio.hi, 2.242_07, 1e-4);
        close(steady.g, 0.0, 0.0);
    }

    #[test]
    fn one_epoch_has_no_interval_and_none_has_no_value() {
        let total = ArmTotal { requests: 100.0, seconds: 1.0 };
        assert!(!log_ratio(&[total], &[total], 0.05).unwrap().has_interval());
        assert!(log_ratio(&[], &[], 0.05).is_none());
        assert!(log_ratio(&[total], &[], 0.05).is_none());
        assert!(rate_per_s(&[], 0.05).is_none());
    }

    #[test]
    fn drain_time_belongs_to_its_arm() {
        let mut epoch = v1_epochs().remove(0);
        let first = &mut epoch.slices[0];
        (first.drained, first.drain_ns) = (3, 1_000_000_000);
        let total = ArmTotal::from_epoch(&epoch, Side::Other);
        close(total.requests, 2442.0, 0.0);
        close(total.seconds, 1.2, 1e-12);
    }
}
