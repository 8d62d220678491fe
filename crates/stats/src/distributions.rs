//! Quantiles and tails of the normal and Student's t distribution.
//!
//! The only place that names the library behind them. Called by the estimators; not public.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The z with P(|Z| > z) = `alpha` for a standard normal Z. `alpha` in (0, 1).
pub(crate) fn normal_critical(alpha: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - alpha / 2.0)
}

/// P(Z ≤ z) for a standard normal Z.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The t with P(|T| > t) = `alpha` at `freedom` degrees of freedom; `None` when these are not
/// positive and finite.
pub(crate) fn t_critical(alpha: f64, freedom: f64) -> Option<f64> {
    let distribution = student(freedom)?;
    Some(distribution.inverse_cdf(1.0 - alpha / 2.0))
}

/// P(|T| > |t|) at `freedom` degrees of freedom; `None` as in [`t_critical`] or when `t` is NaN.
pub(crate) fn t_two_sided_p(t: f64, freedom: f64) -> Option<f64> {
    if t.is_nan() {
        return None;
    }
    if t.is_infinite() {
        return Some(0.0);
    }
    // The lower tail keeps its relative precision, one minus the upper would lose it.
    Some((2.0 * student(freedom)?.cdf(-t.abs())).min(1.0))
}

fn student(freedom: f64) -> Option<StudentsT> {
    if !(freedom.is_finite() && freedom > 0.0) {
        return None;
    }
    StudentsT::new(0.0, 1.0, freedom).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::close;

    // Expected values: scipy.stats.t.ppf(0.975, df) and the printed tables.
    #[test]
    fn critical_values_agree_with_the_tables() {
        for (freedom, expected) in [
            (1.0, 12.706_205),
            (2.0, 4.302_653),
            (5.0, 2.570_582),
            (11.0, 2.200_985),
            (30.0, 2.042_272),
            (119.0, 1.980_100),
        ] {
            close(t_critical(0.05, freedom).unwrap(), expected, 2e-6);
        }
        close(normal_critical(0.05), 1.959_964, 1e-6);
        close(normal_critical(0.01), 2.575_829, 1e-6);
    }

    #[test]
    fn tails_are_two_sided() {
        close(t_two_sided_p(2.200_985, 11.0).unwrap(), 0.05, 1e-6);
        close(t_two_sided_p(-2.200_985, 11.0).unwrap(), 0.05, 1e-6);
        close(normal_cdf(-1.959_964), 0.025, 1e-6);
        assert_eq!(t_two_sided_p(f64::NAN, 11.0), None);
        assert_eq!(t_critical(0.05, 0.0), None);
    }
}
