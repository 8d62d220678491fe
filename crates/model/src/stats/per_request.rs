//! The cost of an activity per request, split into parts that add up to the whole.
//!
//! The cost is a ratio of sums: parts of a sum over the same requests add up exactly, but medians of ratios do not add
//! up. Called for the layers of `why`.

use crate::stats::distributions::{t_critical, t_two_sided_p};
use crate::stats::estimate::Estimate;
use crate::stats::moments::{mean, variance};

/// A difference, and the probability of such a difference by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    pub estimate: Estimate,
    /// The probability, two-sided; `None` if it cannot be computed.
    pub p: Option<f64>,
}

/// If both arms together have fewer occurrences than this, the difference is not tested. If the arms do not differ, all
/// n occurrences are on the same arm with probability 2·2⁻ⁿ. A request has up to fourteen layers. The probability that
/// this happens in at least one layer is above 1/20 with nine occurrences, and below 1/20 with ten.
pub const LEAST_OCCURRENCES: f64 = 10.0;

/// Computes the amount per request over all epochs, with a t interval.
///
/// Estimand: ΣA/ΣR. The epochs are the clusters: eᵢ = (Aᵢ − X·Rᵢ)/mean(R), se = sd(e)/√n, and the interval is ±
/// t(n−1)·se. Assumes independent epochs. Returns `None` for unequal lengths or if there are no requests; for one
/// epoch there is no interval.
///
/// Example: amounts of 10 and 30 for 1 and 3 requests give 10 ± 0 per request.
pub fn per_request(amounts: &[f64], requests: &[f64], alpha: f64) -> Option<Estimate> {
    let (value, errors) = linearised(amounts, requests)?;
    Some(with_interval(value, &errors, 0.0, alpha).estimate)
}

/// The same as [`per_request`], for an amount that is a number of occurrences (such as samples of a timer) times
/// `unit`.
///
/// If nothing occurred, the epochs do not vary either; the variance of a single occurrence, (unit/ΣR)², is then used.
/// Otherwise the variation between the epochs already includes the variance of the count.
///
/// Example: if `unit` is 2, and nothing occurs in two epochs with 5 requests each, the result is 0 ± 12.706·0.2.
pub fn per_request_of_occurrences(amounts: &[f64], requests: &[f64], unit: f64, alpha: f64) -> Option<Estimate> {
    let (value, errors) = linearised(amounts, requests)?;
    let unseen = unseen_variance(amounts, requests, unit);
    Some(with_interval(value, &errors, unseen, alpha).estimate)
}

/// Computes the other arm's amount per request minus the baseline's; each pair is `(amounts, requests)`, epoch by
/// epoch.
///
/// The formula is that of [`per_request`], but e is the difference of the two arms' errors in an epoch. So a
/// disturbance of both arms in the same epoch cancels.
pub fn per_request_difference(baseline: (&[f64], &[f64]), other: (&[f64], &[f64]), alpha: f64) -> Option<Difference> {
    let (value, errors) = linearised_difference(baseline, other)?;
    Some(with_interval(value, &errors, 0.0, alpha))
}

/// The same as [`per_request_difference`], for amounts that are a number of occurrences times `unit`.
///
/// For an arm without any occurrence, the variance of [`per_request_of_occurrences`] is added. If both arms together
/// have fewer than [`LEAST_OCCURRENCES`] occurrences, there is no probability.
pub fn per_request_difference_of_occurrences(
    baseline: (&[f64], &[f64]),
    other: (&[f64], &[f64]),
    unit: f64,
    alpha: f64,
) -> Option<Difference> {
    let (value, errors) = linearised_difference(baseline, other)?;
    let arms = [baseline, other];
    let unseen = arms.map(|(amounts, requests)| unseen_variance(amounts, requests, unit));
    let found = with_interval(value, &errors, unseen.iter().sum(), alpha);
    let total: f64 = arms.iter().flat_map(|(amounts, _)| amounts.iter()).sum();
    Some(Difference { p: found.p.filter(|_| total >= LEAST_OCCURRENCES * unit), ..found })
}

/// Returns the variance of an arm without any occurrence; 0 for other arms.
fn unseen_variance(amounts: &[f64], requests: &[f64], unit: f64) -> f64 {
    let is_unseen = amounts.iter().all(|it| *it == 0.0);
    let per_request = unit / requests.iter().sum::<f64>();
    if is_unseen { per_request * per_request } else { 0.0 }
}

/// Returns the ratio of the sums, and the deviation of each epoch from this ratio.
fn linearised(amounts: &[f64], requests: &[f64]) -> Option<(f64, Vec<f64>)> {
    let total: f64 = requests.iter().sum();
    if amounts.len() != requests.len() || total <= 0.0 {
        return None;
    }
    let ratio = amounts.iter().sum::<f64>() / total;
    let typical = mean(requests);
    let pairs = amounts.iter().zip(requests);
    let errors = pairs.map(|(amount, requests)| (amount - ratio * requests) / typical);
    Some((ratio, errors.collect()))
}

/// Returns the difference of two ratios of sums, and the deviation of each epoch from this difference.
fn linearised_difference(baseline: (&[f64], &[f64]), other: (&[f64], &[f64])) -> Option<(f64, Vec<f64>)> {
    let (base, base_errors) = linearised(baseline.0, baseline.1)?;
    let (value, errors) = linearised(other.0, other.1)?;
    if base_errors.len() != errors.len() {
        return None;
    }
    let pairs = errors.iter().zip(base_errors);
    Some((value - base, pairs.map(|(other, base)| other - base).collect()))
}

/// Computes the estimate, its t interval and its probability from the errors of the epochs; `beside` is additional
/// variance that the errors do not include.
fn with_interval(value: f64, errors: &[f64], beside: f64, alpha: f64) -> Difference {
    let n = errors.len();
    let freedom = n as f64 - 1.0;
    let Some((variance, t)) = variance(errors).zip(t_critical(alpha, freedom)) else {
        return Difference { estimate: Estimate::without_interval(value, n), p: None };
    };
    let error = (variance / n as f64 + beside).sqrt();
    Difference {
        estimate: Estimate { value, lo: value - t * error, hi: value + t * error, n },
        p: (error > 0.0).then(|| t_two_sided_p(value / error, freedom)).flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_sums_weighs_each_request_alike() {
        let found = per_request(&[10.0, 30.0], &[1.0, 3.0], 0.05).unwrap();
        assert_eq!((found.value, found.lo, found.hi), (10.0, 10.0, 10.0));
        // 1 and 3, for one request each: 2 ± 12.706·√2/√2.
        let found = per_request(&[1.0, 3.0], &[1.0, 1.0], 0.05).unwrap();
        assert!((found.hi - 14.7062).abs() < 1e-3, "{found:?}");
        assert!(per_request(&[1.0], &[0.0], 0.05).is_none());
        assert!(per_request(&[1.0], &[], 0.05).is_none());
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let requests = [900.0, 1_100.0, 1_003.0, 950.0, 1_250.0, 997.0];
        let parts: [Vec<f64>; 3] = [1.7, 0.3, 12.9].map(|cost| {
            let amounts = requests.iter().enumerate();
            amounts.map(|(idx, n)| n * cost * (1.0 + 0.01 * (idx % 3) as f64)).collect()
        });
        let whole: Vec<f64> = (0..requests.len()).map(|idx| parts.iter().map(|it| it[idx]).sum()).collect();
        let of = |it: &[f64]| per_request(it, &requests, 0.05).unwrap().value;
        let sum: f64 = parts.iter().map(|it| of(it)).sum();
        assert!((sum - of(&whole)).abs() < 1e-9);
    }

    #[test]
    fn what_was_never_seen_has_the_spread_of_one_occurrence() {
        let found = per_request_of_occurrences(&[0.0; 2], &[5.0; 2], 2.0, 0.05).unwrap();
        assert!((found.hi - 12.706 * 0.2).abs() < 1e-3, "{found:?}");
        assert!((found.lo + found.hi).abs() < 1e-12, "{found:?}");
        // If something occurred, no variance is added.
        let some = [2.0, 4.0];
        let plain = per_request(&some, &[5.0; 2], 0.05);
        assert_eq!(per_request_of_occurrences(&some, &[5.0; 2], 2.0, 0.05), plain);
    }

    /// Distributes `n` occurrences as evenly as possible over sixteen epochs.
    fn occurrences(n: usize) -> Vec<f64> {
        (0..16).map(|idx| (n / 16 + usize::from(idx < n % 16)) as f64).collect()
    }

    #[test]
    fn a_handful_on_one_arm_alone_is_no_difference() {
        let requests = [1_000.0; 16];
        let p = |n: usize| {
            let found = per_request_difference_of_occurrences(
                (&occurrences(0), &requests),
                (&occurrences(n), &requests),
                1.0,
                0.05,
            );
            found.unwrap().p
        };
        assert_eq!(p(9), None);
        // All of ten occurrences are on one arm with probability 1/512.
        let ten = p(10).unwrap();
        assert!((0.000_1..0.02).contains(&ten), "{ten}");
        assert!(p(40).unwrap() < 1e-4);
    }

    #[test]
    fn rare_occurrences_that_do_not_differ_are_seldom_taken_for_a_difference() {
        use rand_xoshiro::SplitMix64;
        use rand_xoshiro::rand_core::{Rng, SeedableRng};
        let mut random = SplitMix64::seed_from_u64(23);
        let requests = [1_000.0; 16];
        let mut arm = |rate: f64| -> Vec<f64> {
            let mut epoch = || {
                // Knuth's method for a random Poisson count.
                let (least, mut product, mut n) = ((-rate).exp(), 1.0, 0);
                loop {
                    product *= random.next_u64() as f64 / u64::MAX as f64;
                    if product <= least {
                        return f64::from(n);
                    }
                    n += 1;
                }
            };
            (0..16).map(|_| epoch()).collect()
        };
        for rate in [0.05, 0.3, 0.6, 1.0, 3.0] {
            let n_runs = 2_000;
            let n_said = { 0..n_runs }.filter(|_| {
                let (base, other) = (arm(rate), arm(rate));
                let (base, other) = ((&base[..], &requests[..]), (&other[..], &requests[..]));
                let found = per_request_difference_of_occurrences(base, other, 1.0, 0.05);
                found.unwrap().p.is_some_and(|p| p < 0.05)
            });
            let share = n_said.count() as f64 / f64::from(n_runs);
            assert!(share < 0.065, "{rate}: {share}");
        }
    }

    #[test]
    fn what_disturbs_both_arms_of_an_epoch_cancels() {
        let requests = [1_000.0; 8];
        let base: Vec<f64> = (0..8).map(|idx| 5_000.0 + 900.0 * f64::from(idx % 4)).collect();
        let other: Vec<f64> = base.iter().enumerate().map(|(idx, it)| it + 500.0 + (idx % 2) as f64).collect();
        let found = per_request_difference((&base, &requests), (&other, &requests), 0.05).unwrap();
        let estimate = found.estimate;
        assert!(estimate.lo > 0.499 && estimate.hi < 0.502, "{estimate:?}");
        assert!(found.p.unwrap() < 1e-9);
        let alike = per_request_difference((&base, &requests), (&base, &requests), 0.05).unwrap();
        assert_eq!((alike.estimate.value, alike.p), (0.0, None));
    }
}
