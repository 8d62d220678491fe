//! The Hodges-Lehmann estimate with its exact signed-rank interval, which is used for every metric.
//!
//! This file knows nothing about epochs or arms: its input is one number per unit. Called for throughput, latency, CPU
//! time, quantiles, and for the figures of one arm.

use crate::stats::estimate::Estimate;
use crate::stats::moments::median_of_sorted;
use crate::stats::signed_rank;

/// Estimates the centre of symmetry of `values`, with an interval of level 1 − `alpha`.
///
/// Estimand: the pseudo-median, the median of the mean of two independent draws. Formula: the
/// n(n+1)/2 Walsh averages (vᵢ+vⱼ)/2, i ≤ j, sorted as w; the estimate is their median, the interval
/// [w\[k\], w\[M−1−k\]] with k from [`signed_rank::k`]. The level is exact when the values are
/// independent and symmetric about the same centre; they need not be normal or equally spread.
///
/// Returns `None` if there are no values or a value is NaN. With fewer than [`signed_rank::least_n`] values, the
/// interval is infinite. If all values are equal, the interval is this value, with length zero.
///
/// Example: 1, 2, 6 has the Walsh averages 1, 1.5, 2, 3.5, 4, 6; the estimate is 2.75.
///
/// # Units
/// `alpha` is two-sided, in (0, 1); the result has the unit of `values`.
///
/// # Source
/// Hodges and Lehmann, 1963; Hollander and Wolfe, chapter 3.
pub fn estimate(values: &[f64], alpha: f64) -> Option<Estimate> {
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let walsh = sorted_walsh_averages(values);
    let value = median_of_sorted(&walsh)?;
    let n = values.len();
    Some(match signed_rank::k(n, alpha) {
        Some(k) => Estimate { value, lo: walsh[k], hi: walsh[walsh.len() - 1 - k], n },
        None => Estimate::without_interval(value, n),
    })
}

fn sorted_walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut walsh = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, left) in values.iter().enumerate() {
        walsh.extend(values[i..].iter().map(|right| f64::midpoint(*left, *right)));
    }
    walsh.sort_unstable_by(f64::total_cmp);
    walsh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::{close, floats, load, v1_thetas};

    #[test]
    fn agrees_with_the_reference_on_v1() {
        let expected = &load()["V1_epoch_effects_HL_signed_rank"]["expected"];
        for (alpha, level, k) in [(0.05, "ci95_log", "k_95"), (0.01, "ci99_log", "k_99")] {
            let found = estimate(&v1_thetas(), alpha).unwrap();
            let ends = floats(&expected[level]);
            close(found.value, expected["hl_log"].as_f64().unwrap(), 1e-5);
            close(found.lo, ends[0], 1e-5);
            close(found.hi, ends[1], 1e-5);
            assert_eq!(signed_rank::k(12, alpha).unwrap() as u64, expected[k].as_u64().unwrap());
            let pct = found.map_monotone(|x| 100.0 * x.exp_m1());
            close(pct.value, expected["hl_percent"].as_f64().unwrap(), 1e-3);
            let ends = floats(&expected[&level.replace("log", "percent")]);
            close(pct.lo, ends[0], 1e-3);
            close(pct.hi, ends[1], 1e-3);
        }
    }

    #[test]
    fn too_few_values_have_no_interval() {
        let found = estimate(&[1.0, 2.0, 6.0], 0.05).unwrap();
        close(found.value, 2.75, 1e-12);
        assert!(!found.has_interval());
        assert!(estimate(&[], 0.05).is_none());
        assert!(estimate(&[1.0, f64::NAN], 0.05).is_none());
    }

    #[test]
    fn equal_values_have_an_interval_of_length_zero() {
        let found = estimate(&[0.25; 8], 0.05).unwrap();
        assert_eq!((found.lo, found.value, found.hi), (0.25, 0.25, 0.25));
    }
}
