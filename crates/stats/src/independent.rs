//! Two estimates from separate runs, held against each other.
//!
//! Called by `diff`. Nothing pairs the two, so what drifted between the runs is in the difference and
//! not in its interval: whoever shows it says so.

use crate::Estimate;

/// `after` − `before`, from their values and intervals alone.
///
/// Estimand: the difference d of the two quantities. With a [la, ua] after and b [lb, ub] before, its
/// ends are d − √((a − la)² + (ub − b)²) and d + √((ua − a)² + (b − lb)²): the variances are recovered
/// from the intervals, so that skewed intervals stay skewed.
/// Assumes that the runs are independent and both intervals have the same level, which is then the
/// level of the result. An interval without an end gives one without that end; `n` is the smaller one.
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
    Estimate {
        value,
        lo: value - below,
        hi: value + above,
        n: before.n.min(after.n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, lo: f64, hi: f64) -> Estimate {
        Estimate {
            value,
            lo,
            hi,
            n: 12,
        }
    }

    #[test]
    fn the_example_comes_out() {
        let found = difference(estimate(10.0, 9.0, 12.0), estimate(20.0, 18.0, 21.0));
        assert!((found.value - 10.0).abs() < 1e-12);
        assert!(
            (found.lo - (10.0 - 8.0_f64.sqrt())).abs() < 1e-12,
            "{found:?}"
        );
        assert!(
            (found.hi - (10.0 + 2.0_f64.sqrt())).abs() < 1e-12,
            "{found:?}"
        );
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
        // Sums of twelve uniforms are normal enough; known variance, so ±1.96 σ is the interval.
        let mut normal = || {
            let sum: f64 = (0..12)
                .map(|_| random.next_u64() as f64 / u64::MAX as f64)
                .sum();
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
}
