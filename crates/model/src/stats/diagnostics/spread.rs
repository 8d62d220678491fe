//! How much θ varies between epochs, and how much of this variation counting noise explains.
//!
//! This explains the width of an interval, and changes no interval. Called for the whole run.

use crate::stats::epoch::{Epoch, Side, Slice};
use crate::stats::estimate::Estimate;
use crate::stats::moments::{mean, median, variance};

/// Factor that turns the median absolute deviation of a normal distribution into its standard deviation: 1/Φ⁻¹(3/4).
const MAD_TO_SD: f64 = 1.482_602_218_505_602;
/// Median of χ² with 3 degrees of freedom (2.365 974) divided by 3: the median of s²/σ² for four normal values.
const MEDIAN_VARIANCE_OF_FOUR: f64 = 0.788_657_9;
/// Normal quantile of a 95 % interval.
const Z_95: f64 = 1.959_963_984_540_054;
/// If the typical and the total throughput differ by at most this much (in θ), the difference is not reported.
const DISAGREEMENT: f64 = 0.01;

/// The part of the interval's width that comes from counting noise. Only more requests make this part smaller; no
/// change of the design makes it smaller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingFloor {
    /// Variance of one arm's counts within an octet (a group of eight slices), divided by their mean.
    pub phi: f64,
    /// Half width of the 95 % interval of θ that is possible with the requests counted so far.
    pub half_width: f64,
}

/// Returns a standard deviation that outliers hardly affect: `1.4826 · median(|x - median(x)|)`.
///
/// It estimates the standard deviation of a normal distribution. Returns `None` if there are no values, and zero if
/// more than half of the values are equal.
///
/// Example: the values are 1, 2, 3, 4 and 100, and their median is 3. The deviations are 2, 1, 0, 1 and 97, and their
/// median is 1. So the result is 1.4826.
pub fn mad_sd(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    let centre = median(&mut values)?;
    for value in &mut values {
        *value = (*value - centre).abs();
    }
    Some(MAD_TO_SD * median(&mut values)?)
}

/// Computes the sampling floor of a run.
///
/// φ is the median of s²/mean over all octets and arms. s² is the variance of the four counts (scaled to equal time).
/// The median excludes bursts; it is biased, so it is divided by 0.7887. Half width = 1.96·√(4φ/(X·T)). X·T is the
/// number of requests counted in all active windows. Each arm has half of these requests, and ln of a count N has the
/// variance φ/N. Returns `None` if there is no octet or no request, or if the verdict comes from response times: θ then
/// does not depend on counts.
///
/// Example: φ = 1 and a million requests: 1.96·√(4/10⁶) = 0.0039, so 0.39 %.
pub fn sampling_floor(epochs: &[Epoch]) -> Option<SamplingFloor> {
    if epochs.iter().any(Epoch::is_by_response) {
        return None;
    }
    let groups = epochs.iter().filter_map(Epoch::groups).flatten();
    let octets: Vec<&[Slice]> = groups.filter(|group| group.len() == 8).collect();
    let ratios = octets.iter().flat_map(|octet| {
        let of_side = |side| variance_over_mean(octet, side);
        Side::BOTH.into_iter().filter_map(of_side)
    });
    let phi = median(&mut ratios.collect::<Vec<f64>>())? / MEDIAN_VARIANCE_OF_FOUR;
    let slices = octets.iter().copied().flatten();
    let n_requests: u64 = slices.map(|slice| slice.completions).sum();
    Some(SamplingFloor { phi, half_width: Z_95 * (4.0 * phi / n_requests as f64).sqrt() })
}

/// Returns the variance of one arm's counts in an octet divided by their mean, scaled to equal time; `None` if there
/// are no counts.
fn variance_over_mean(octet: &[Slice], side: Side) -> Option<f64> {
    let slices = || octet.iter().filter(|slice| slice.side == side);
    let times_ns: Vec<f64> = slices().map(|slice| slice.active_ns as f64).collect();
    let usual_ns = mean(&times_ns);
    let scaled = |slice: &Slice| slice.completions as f64 * usual_ns / slice.active_ns as f64;
    let counts: Vec<f64> = slices().map(scaled).collect();
    let ratio = variance(&counts)? / mean(&counts);
    ratio.is_finite().then_some(ratio)
}

/// Checks whether typical speed and total throughput contradict each other; rare stalls on one arm cause this.
///
/// They contradict each other if |totals − θ| > max(0.01, half of the half width of the totals). The totals and θ are
/// both ln(baseline / other). Totals without an interval never contradict.
///
/// Example: for θ = 0.048 and totals 0.033 ± 0.080, the difference 0.015 is below 0.040, so they do not contradict.
pub fn totals_disagree(theta: &Estimate, totals: &Estimate) -> bool {
    let allowed = DISAGREEMENT.max(totals.half_width() / 2.0);
    (totals.value - theta.value).abs() > allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::{close, load, plain_slice, v1_thetas};

    #[test]
    fn the_robust_spread_agrees_with_the_reference() {
        let expected = &load()["V7_selfcheck_and_diagnostics"]["mad_sd"];
        close(mad_sd(&v1_thetas()).unwrap(), expected.as_f64().unwrap(), 1e-5);
        close(mad_sd(&[1.0, 2.0, 3.0, 4.0, 100.0]).unwrap(), 1.4826, 1e-4);
        assert_eq!(mad_sd(&[]), None);
    }

    #[test]
    fn the_floor_is_made_of_the_counts() {
        // Each arm has the counts 90, 100, 100, 110: their variance is 200/3, and divided by their mean 100 it is 2/3.
        let sides = [1, 0, 0, 1, 0, 1, 1, 0].map(|idx| Side::BOTH[idx]);
        let counts = [90, 90, 100, 100, 100, 100, 110, 110];
        let slices = sides.into_iter().zip(counts);
        let epoch = Epoch {
            slices: slices.map(|(side, n)| plain_slice(side, n, 50_000_000)).collect(),
            latencies_ns: [vec![], vec![]],
            noise: None,
        };
        let found = sampling_floor(&[epoch]).unwrap();
        close(found.phi, 2.0 / 3.0 / 0.788_658, 1e-5);
        close(found.half_width, 1.959_964 * (4.0 * found.phi / 800.0).sqrt(), 1e-6);
        assert_eq!(sampling_floor(&[]), None);
    }

    #[test]
    fn typical_and_total_may_differ_a_little() {
        let totals = |value, half_width| Estimate { value, lo: value - half_width, hi: value + half_width, n: 12 };
        let theta = totals(0.048, 0.006);
        assert!(!totals_disagree(&theta, &totals(0.033, 0.080)));
        assert!(totals_disagree(&theta, &totals(0.033, 0.020)));
        assert!(!totals_disagree(&theta, &totals(0.040, 0.001)));
        assert!(!totals_disagree(&theta, &Estimate::without_interval(9.0, 1)));
    }
}
