//! Quantiles and tails of the normal, Student's t, χ² and F distributions.
//!
//! Only this file uses the library's distributions. Called by the estimators; not public.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// Returns the z with P(|Z| > z) = `alpha` for a standard normal Z. `alpha` must be in (0, 1).
pub(crate) fn normal_critical(alpha: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - alpha / 2.0)
}

/// Returns P(Z ≤ z) for a standard normal Z.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// From this number of degrees of freedom on, the critical value of t is computed as an expansion around the critical
/// value of the normal distribution. The library's value is wrong by 7e-6 at 1e5 and by 1e-4 at 1e6 degrees of
/// freedom; the expansion is wrong by less than 1e-10 from this number on.
const EXPANDED_FREEDOM: f64 = 1e4;

/// Returns the t with P(|T| > t) = `alpha` at `freedom` degrees of freedom; `None` if `freedom` is not positive and
/// finite.
///
/// # Source
/// The expansion: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.5.
pub(crate) fn t_critical(alpha: f64, freedom: f64) -> Option<f64> {
    let distribution = student(freedom)?;
    if freedom < EXPANDED_FREEDOM {
        return Some(distribution.inverse_cdf(1.0 - alpha / 2.0));
    }
    let z = normal_critical(alpha);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    Some(z + first / freedom + second / (freedom * freedom))
}

/// Returns P(|T| > |t|) at `freedom` degrees of freedom; `None` if `freedom` is not positive and finite, or if `t` is
/// NaN.
pub(crate) fn t_two_sided_p(t: f64, freedom: f64) -> Option<f64> {
    if t.is_nan() {
        return None;
    }
    if t.is_infinite() {
        return Some(0.0);
    }
    // The lower tail keeps its relative precision; if it were computed as 1 − P(T ≤ |t|), this precision would be lost.
    Some((2.0 * student(freedom)?.cdf(-t.abs())).min(1.0))
}

/// Returns P(X ≤ x) for χ² at `freedom` degrees of freedom, which need not be an integer; `None` if `freedom` is not
/// positive and finite, or if `x` is NaN.
pub(crate) fn chi_squared_cdf(x: f64, freedom: f64) -> Option<f64> {
    Some(chi_squared(x, freedom)?.cdf(x))
}

/// Returns P(X > x) for χ²; the parameters are as in [`chi_squared_cdf`].
pub(crate) fn chi_squared_tail(x: f64, freedom: f64) -> Option<f64> {
    Some(chi_squared(x, freedom)?.sf(x))
}

/// Returns P(F > x) at `above` and `below` degrees of freedom; `None` if these numbers are not positive and finite, or
/// if `x` is not finite.
pub(crate) fn f_tail(x: f64, above: f64, below: f64) -> Option<f64> {
    let is_usable = x.is_finite() && above.is_finite() && below.is_finite();
    let distribution = FisherSnedecor::new(above, below).ok().filter(|_| is_usable)?;
    Some(distribution.sf(x.max(0.0)))
}

fn chi_squared(x: f64, freedom: f64) -> Option<ChiSquared> {
    let is_usable = !x.is_nan() && freedom.is_finite() && freedom > 0.0;
    ChiSquared::new(freedom).ok().filter(|_| is_usable)
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
    use crate::stats::vectors::close;

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
            (9_999.0, 1.960_201_264),
            (10_000.0, 1.960_201_240),
            (99_999.0, 1.959_987_707),
            (1e6, 1.959_966_357),
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

    // Expected values: scipy.stats.chi2.cdf(x, f), chi2.sf(x, f), f.sf(x, a, b) of scipy 1.17.1.
    #[test]
    fn chi_squared_and_f_agree_with_a_second_tool_up_to_the_freedom_of_a_fleet() {
        for (x, freedom, below, above) in [
            (0.01, 1.0, 7.965_567_455e-2, 9.203_443_254e-1),
            (3.841_5, 1.0, 9.500_012_279e-1, 4.999_877_207e-2),
            (6.5, 2.5, 9.388_464_023e-1, 6.115_359_774e-2),
            (21.026, 12.0, 9.499_989_846e-1, 5.000_101_542e-2),
            (152.2, 12.0, 1.0, 2.027_822_929e-26),
            (10_300.0, 10_000.0, 9.823_618_826e-1, 1.763_811_745e-2),
            (98_000.0, 99_999.0, 3.420_666_003e-6, 9.999_965_793e-1),
            (101_000.0, 99_999.37, 9.871_777_549e-1, 1.282_224_515e-2),
        ] {
            close(chi_squared_cdf(x, freedom).unwrap(), below, 1e-9);
            close(chi_squared_tail(x, freedom).unwrap() / above, 1.0, 1e-7);
        }
        for (x, above, below, expected) in [
            (2.5, 3.0, 10.0, 1.190_395_627e-1),
            (0.3, 2.0, 7.5, 7.493_089_447e-1),
            (8.0, 5.0, 99_990.0, 1.498_507_044e-7),
        ] {
            close(f_tail(x, above, below).unwrap() / expected, 1.0, 1e-8);
        }
        assert_eq!(chi_squared_cdf(f64::NAN, 3.0), None);
        assert_eq!(chi_squared_tail(1.0, 0.0), None);
        assert_eq!(f_tail(1.0, 2.0, f64::INFINITY), None);
    }
}
