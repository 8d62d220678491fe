//! The distribution of the signed-rank statistic under "no difference": it determines which of the sorted Walsh
//! averages are the ends of an interval.
//!
//! This file has the table of probabilities, its approximation for large samples, and the two-sided test that fits the
//! interval. Called by `hodges_lehmann` and for secondary p-values.

use crate::stats::distributions::{normal_cdf, normal_critical};

/// Up to this n, the distribution is computed exactly. At 200 the smallest probability, 2^−200, is far from underflow,
/// and the table needs four million additions.
const EXACT_MAX: usize = 200;

/// Returns how many Walsh averages are dropped at each end: the largest k with P(W ≤ k) ≤ α/2.
///
/// W is the signed-rank statistic of `n` values under a symmetric null hypothesis. The result is exact up to n = 200;
/// for more values it is ⌊n(n+1)/4 − 1/2 − z·√(n(n+1)(2n+1)/24)⌋. Returns `None` if there is no such k: then no
/// interval of level 1 − `alpha` exists (see [`least_n`]). `alpha` must be in (0, 1).
///
/// Example: n = 6, α = 0.05: P(W ≤ 0) = 1/64 ≤ 0.025 < P(W ≤ 1) = 2/64, so k = 0.
///
/// # Source
/// Hollander and Wolfe, Nonparametric Statistical Methods, chapter 3.
pub fn k(n: usize, alpha: f64) -> Option<usize> {
    if n > EXACT_MAX {
        return Some(k_normal(n, alpha));
    }
    let mut cumulative = 0.0;
    let fitting = null_probabilities(n).into_iter().take_while(|p| {
        cumulative += p;
        cumulative <= alpha / 2.0
    });
    fitting.count().checked_sub(1)
}

/// Returns the smallest n for which [`k`] returns a value: the smallest n with 2^−n ≤ α/2.
///
/// Example: for α = 0.05 the result is 6, since 1/64 ≤ 0.025 < 1/32.
pub fn least_n(alpha: f64) -> usize {
    let mut n = 0;
    let mut smallest = 1.0;
    while smallest > alpha / 2.0 {
        smallest /= 2.0;
        n += 1;
    }
    n
}

/// Returns the two-sided p-value of "symmetric about zero", computed from the signs of the Walsh averages.
///
/// p = min(1, 2·P(W ≤ w)), where w is the number of Walsh averages ≥ 0 or the number of Walsh averages ≤ 0, whichever
/// is smaller. A zero is counted in both numbers, so ties and zeros can only raise p. p ≤ α exactly if the interval of
/// level 1 − α does not contain zero. Assumes independent values. Returns `None` if there are no values or a value is
/// NaN; for only zeros the result is 1.
///
/// Example: for six positive values, w = 0 and p = 2/64.
pub fn p_value(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let (mut n_up, mut n_down) = (0, 0);
    for (i, left) in values.iter().enumerate() {
        for right in &values[i..] {
            n_up += usize::from(left + right >= 0.0);
            n_down += usize::from(left + right <= 0.0);
        }
    }
    let lower_tail = cumulative_probability(values.len(), n_up.min(n_down));
    Some((2.0 * lower_tail).min(1.0))
}

/// Returns P(W ≤ w) for `n` values.
fn cumulative_probability(n: usize, w: usize) -> f64 {
    if n > EXACT_MAX {
        let (centre, sd) = normal_moments(n);
        return normal_cdf((w as f64 + 0.5 - centre) / sd);
    }
    null_probabilities(n).iter().take(w + 1).sum()
}

/// Returns P(W = 0), P(W = 1), … at least up to the middle of the distribution.
///
/// Adding the value of rank i moves W by i with probability 1/2:
/// p'\[t\] = (p\[t\] + p\[t − i\]) / 2.
fn null_probabilities(n: usize) -> Vec<f64> {
    let mut p = vec![0.0; n * (n + 1) / 2 + 1];
    p[0] = 1.0;
    for rank in 1..=n {
        for t in (0..=rank * (rank + 1) / 2).rev() {
            let shifted = if t >= rank { p[t - rank] } else { 0.0 };
            p[t] = f64::midpoint(p[t], shifted);
        }
    }
    p
}

fn k_normal(n: usize, alpha: f64) -> usize {
    let (centre, sd) = normal_moments(n);
    (centre - 0.5 - normal_critical(alpha) * sd).floor().max(0.0) as usize
}

/// Returns the mean and the standard deviation of W.
fn normal_moments(n: usize) -> (f64, f64) {
    let n = n as f64;
    let spread = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
    (n * (n + 1.0) / 4.0, spread.sqrt())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::stats::vectors::{close, load, v1_thetas};

    /// Calls `check` for each entry (alpha, then n or nothing, then the expected value) of a table of vector V3.
    fn each_entry(table: &str, check: impl Fn(f64, &Value)) {
        let vectors = load();
        let table = vectors["V3_signed_rank_k_table"][table].as_object().unwrap();
        assert_eq!(table.len(), 7);
        for (alpha, expected) in table {
            check(alpha.parse().unwrap(), expected);
        }
    }

    #[test]
    fn k_agrees_with_the_exact_table() {
        each_entry("expected", |alpha, row| {
            for (n, expected) in row.as_object().unwrap() {
                let expected = usize::try_from(expected.as_i64().unwrap()).ok();
                assert_eq!(k(n.parse().unwrap(), alpha), expected, "n {n} alpha {alpha}");
            }
        });
    }

    #[test]
    fn the_approximation_agrees_at_200() {
        each_entry("approx_n200", |alpha, expected| {
            assert_eq!(k_normal(200, alpha) as u64, expected.as_u64().unwrap());
        });
        let exact = k(EXACT_MAX, 0.05).unwrap();
        assert!(k(EXACT_MAX + 1, 0.05).unwrap() > exact);
    }

    #[test]
    fn the_least_n_is_where_k_begins() {
        each_entry("min_n", |alpha, expected| {
            let n = least_n(alpha);
            assert_eq!(n as u64, expected.as_u64().unwrap());
            assert!(k(n, alpha).is_some() && k(n - 1, alpha).is_none());
        });
    }

    #[test]
    fn p_values_are_exact() {
        close(p_value(&v1_thetas()).unwrap(), 0.034_179_687_5, 1e-12);
        close(p_value(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap(), 2.0 / 64.0, 1e-12);
        assert_eq!(p_value(&[0.0; 8]), Some(1.0));
        assert_eq!(p_value(&[]), None);
        assert_eq!(p_value(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn large_samples_use_the_approximation() {
        let even: Vec<f64> = (0..300).map(|i| f64::from(i) - 149.5).collect();
        assert!(p_value(&even).unwrap() > 0.9);
        let shifted: Vec<f64> = even.iter().map(|value| value + 40.0).collect();
        assert!(p_value(&shifted).unwrap() < 1e-6);
    }
}
