//! Checks whether a series drifts, and whether neighbouring values are correlated.
//!
//! Computes the rank correlation with the position, and the correlation of neighbours. Called with the θ of a run in
//! order of time.

use crate::stats::distributions::t_two_sided_p;
use crate::stats::moments::{mean, midranks};

/// Spearman's rank correlation of a series with its position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// From −1 (the series always falls) to 1 (the series always rises).
    pub rho: f64,
    /// Two-sided p-value by the t approximation.
    pub p_value: f64,
    pub n: usize,
}

/// Tests a series for a monotone drift.
///
/// rho = Pearson's correlation of the midranks with 1, 2, …; t = rho·√((n−2)/(1−rho²)) at n − 2 degrees of freedom.
/// Assumes that the values are independent if there is no drift; the approximation is good for about ten values or
/// more. Returns `None` for fewer than three values, if all values are equal, or if a value is NaN. |rho| = 1 gives p =
/// 0.
///
/// Example: 1, 3, 2: the correlation of the ranks 1, 3, 2 with 1, 2, 3 is rho = 0.5, t = 0.577 at 1 degree of freedom,
/// p = 0.667.
pub fn trend(series: &[f64]) -> Option<Trend> {
    let n = series.len();
    if n < 3 || series.iter().any(|value| value.is_nan()) {
        return None;
    }
    let positions: Vec<f64> = (0..n).map(|idx| idx as f64).collect();
    let rho = correlation(&midranks(series), &positions)?.clamp(-1.0, 1.0);
    let freedom = (n - 2) as f64;
    let t = rho * (freedom / (1.0 - rho * rho)).sqrt();
    Some(Trend { rho, p_value: t_two_sided_p(t, freedom)?, n })
}

/// Computes Pearson's correlation of each value with the next value.
///
/// For an independent series of n values the correlation is about −1/n. Returns `None` for fewer than four values (two
/// pairs are always fully correlated), or if all values are equal.
///
/// Example: 0, 2, 1, 3 has the pairs (0, 2), (2, 1), (1, 3), so the correlation is −1/2.
pub fn lag1_autocorrelation(series: &[f64]) -> Option<f64> {
    if series.len() < 4 {
        return None;
    }
    correlation(&series[..series.len() - 1], &series[1..])
}

fn correlation(left: &[f64], right: &[f64]) -> Option<f64> {
    let (left_mean, right_mean) = (mean(left), mean(right));
    let (mut products, mut left_squares, mut right_squares) = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(right) {
        let (left, right) = (left - left_mean, right - right_mean);
        products += left * right;
        left_squares += left * left;
        right_squares += right * right;
    }
    let scale = (left_squares * right_squares).sqrt();
    (scale > 0.0).then(|| products / scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::{close, floats, load, v1_thetas};

    #[track_caller]
    fn check(series: &[f64], rho: f64, p_value: f64, tolerance: f64) {
        let found = trend(series).unwrap();
        close(found.rho, rho, tolerance);
        close(found.p_value, p_value, tolerance);
    }

    #[test]
    fn trends_agree_with_the_reference() {
        let vectors = load();
        let expected = &vectors["V7_selfcheck_and_diagnostics"]["trend"]["expected"];
        let figure = |name: &str| expected[name].as_f64().unwrap();
        check(&v1_thetas(), figure("theta_rho"), figure("theta_p_t_approx"), 1e-4);
        let requests = floats(&vectors["V2_totals_ratio_linearised_and_fieller"]["expected"]["N_T"]);
        check(&requests, figure("N_T_rho"), figure("N_T_p_t_approx"), 1e-4);
    }

    #[test]
    fn degenerate_series_have_no_trend_or_a_certain_one() {
        check(&[1.0, 3.0, 2.0], 0.5, 0.666_667, 1e-5);
        check(&[1.0, 2.0, 3.0, 4.0], 1.0, 0.0, 1e-12);
        assert_eq!(trend(&[1.0; 9]), None);
        assert_eq!(trend(&[1.0, 2.0]), None);
        assert_eq!(trend(&[1.0, f64::NAN, 2.0]), None);
    }

    #[test]
    fn the_autocorrelation_agrees_with_the_reference() {
        let expected = &load()["V7_selfcheck_and_diagnostics"]["lag1_autocorr"];
        let found = lag1_autocorrelation(&v1_thetas()).unwrap();
        close(found, expected.as_f64().unwrap(), 1e-5);
        let found = lag1_autocorrelation(&[0.0, 2.0, 1.0, 3.0]).unwrap();
        close(found, -0.5, 1e-12);
        assert_eq!(lag1_autocorrelation(&[1.0, 2.0, 3.0]), None);
        assert_eq!(lag1_autocorrelation(&[2.0; 5]), None);
    }
}
