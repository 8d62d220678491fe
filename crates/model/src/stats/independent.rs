//! Compares two estimates from separate runs.
//!
//! Called by `diff`, and by `why` for two records. The runs are not paired: a drift between them is part of the
//! difference but not of its interval. The caller reports this.

use crate::stats::Estimate;
use crate::stats::distributions::{t_critical, t_two_sided_p};
use crate::stats::per_request::Difference;

/// Computes `after` − `before` from only the values and intervals of the two estimates.
///
/// Estimand: the difference d of the two quantities, which are `after` = a [la, ua] and `before` = b [lb, ub]. The
/// lower end of the result is d − √((a − la)² + (ub − b)²), and the upper end is d + √((ua − a)² + (b − lb)²). The
/// variances are derived from the intervals, so skewed intervals stay skewed. Assumes that the runs are independent and
/// that both intervals have the same level; the result has the same level, too. An infinite end makes the corresponding
/// end of the result infinite. The `n` of the result is the smaller of the two `n`.
///
/// Example: 10 [9, 12] and 20 [18, 21] differ by 10 − √(2² + 2²) to 10 + √(1² + 1²): [7.17, 11.41].
///
/// # Source
/// Zou and Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27
/// (2008) 1693-1702.
pub fn difference(before: Estimate, after: Estimate) -> Estimate {
    let value = after.value - before.value;
    let below = (after.value - after.lo).hypot(before.hi - before.value);
    let above = (after.hi - after.value).hypot(before.value - before.lo);
    Estimate { value, lo: value - below, hi: value + above, n: before.n.min(after.n) }
}

/// Computes [`difference`], and the probability of such a difference by chance.
///
/// Welch's test: each standard error is half the interval's length divided by t(n−1), as in t intervals of level 1 −
/// `alpha`. There is no probability if an interval has an infinite end or length zero.
///
/// # Source
/// Welch, The generalization of Student's problem, Biometrika 34 (1947) 28-35.
pub fn tested_difference(before: Estimate, after: Estimate, alpha: f64) -> Difference {
    let estimate = difference(before, after);
    let variance = |it: Estimate| {
        let freedom = it.n as f64 - 1.0;
        let error = it.half_width() / t_critical(alpha, freedom)?;
        Some((error * error, freedom))
    };
    let p = || {
        let ((one, of_one), (other, of_other)) = (variance(before)?, variance(after)?);
        let both = one + other;
        let freedom = both * both / (one * one / of_one + other * other / of_other);
        t_two_sided_p(estimate.value / both.sqrt(), freedom)
    };
    Difference { estimate, p: p().filter(|it| it.is_finite()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, lo: f64, hi: f64) -> Estimate {
        Estimate { value, lo, hi, n: 12 }
    }

    #[test]
    fn the_example_comes_out() {
        let found = difference(estimate(10.0, 9.0, 12.0), estimate(20.0, 18.0, 21.0));
        assert!((found.value - 10.0).abs() < 1e-12);
        assert!((found.lo - (10.0 - 8.0_f64.sqrt())).abs() < 1e-12, "{found:?}");
        assert!((found.hi - (10.0 + 2.0_f64.sqrt())).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn the_other_way_round_is_the_mirror_image() {
        let (one, other) = (estimate(10.0, 9.0, 12.0), estimate(20.0, 18.0, 21.0));
        let (there, back) = (difference(one, other), difference(other, one));
        assert_eq!((there.lo, there.hi), (-back.hi, -back.lo));
    }

    #[test]
    fn without_an_interval_on_one_side_there_is_none() {
        let open = Estimate::without_interval(5.0, 1);
        let found = difference(open, estimate(20.0, 18.0, 21.0));
        assert!(!found.has_interval() && found.n == 1);
    }

    #[test]
    fn it_covers_the_truth_as_often_as_it_says() {
        use rand_xoshiro::SplitMix64;
        use rand_xoshiro::rand_core::{Rng, SeedableRng};
        let mut random = SplitMix64::seed_from_u64(5);
        // The sum of twelve uniform numbers is nearly normal, and its variance is known, so ±1.96 σ is the interval.
        let mut normal = || {
            let sum: f64 = (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum();
            sum - 6.0
        };
        let n_runs = 2000;
        let n_covered = (0..n_runs)
            .filter(|_| {
                let (a, b) = (10.0 + normal(), 7.0 + 2.0 * normal());
                let half = 1.96;
                let before = estimate(a, a - half, a + half);
                let after = estimate(b, b - 2.0 * half, b + 2.0 * half);
                difference(before, after).covers(-3.0)
            })
            .count();
        let share = n_covered as f64 / f64::from(n_runs);
        assert!((0.935..0.965).contains(&share), "{share}");
    }

    #[test]
    fn where_there_is_no_difference_one_in_twenty_is_taken_for_one() {
        use rand_xoshiro::SplitMix64;
        use rand_xoshiro::rand_core::{Rng, SeedableRng};

        use crate::stats::per_request::per_request;
        let mut random = SplitMix64::seed_from_u64(11);
        let mut run = |n: usize, spread: f64| {
            let mut normal = || {
                let sum: f64 = (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum();
                10.0 + spread * (sum - 6.0)
            };
            let amounts: Vec<f64> = (0..n).map(|_| normal()).collect();
            per_request(&amounts, &vec![1.0; n], 0.05).unwrap()
        };
        let n_runs = 4000;
        let n_said = (0..n_runs)
            .filter(|_| {
                let (before, after) = (run(16, 1.0), run(8, 2.0));
                tested_difference(before, after, 0.05).p.unwrap() < 0.05
            })
            .count();
        let share = n_said as f64 / f64::from(n_runs);
        assert!((0.04..0.06).contains(&share), "{share}");
        let (before, after) = (run(16, 0.1), run(16, 0.1).map_monotone(|it| it + 5.0));
        assert!(tested_difference(before, after, 0.05).p.unwrap() < 1e-6);
        let open = Estimate::without_interval(5.0, 1);
        assert_eq!(tested_difference(open, after, 0.05).p, None);
    }
}
