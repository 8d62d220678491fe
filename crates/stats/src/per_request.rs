//! What something costs a request, in parts that add up to the whole.
//!
//! A ratio of sums: parts of a sum over the same requests add up exactly, which medians of ratios do not. Called for the
//! layers of `why`.

use crate::distributions::{t_critical, t_two_sided_p};
use crate::estimate::Estimate;
use crate::moments::{mean, variance};

/// A difference, and how often there is such a one by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Other less baseline.
    pub estimate: Estimate,
    /// Two-sided; `None` where it cannot be said.
    pub p: Option<f64>,
}

/// Amount per request over all epochs, with a t interval.
///
/// Estimand: ΣA/ΣR. The epochs are the clusters: eᵢ = (Aᵢ − X·Rᵢ)/mean(R), se = sd(e)/√n, and the interval is
/// ± t(n−1)·se. Assumes independent epochs. `None` for unequal lengths or no requests; one epoch has no interval.
///
/// Example: amounts 10 and 30 of 1 and 3 requests are 10 ± 0 a request.
pub fn per_request(amounts: &[f64], requests: &[f64], alpha: f64) -> Option<Estimate> {
    let (value, errors) = linearised(amounts, requests)?;
    Some(with_interval(value, &errors, alpha).estimate)
}

/// The other arm's amount per request less the baseline's, each pair `(amounts, requests)` epoch by epoch.
///
/// As [`per_request`], with the difference of the two arms' errors of an epoch for e: what disturbs both arms of an epoch
/// alike cancels.
pub fn per_request_difference(
    baseline: (&[f64], &[f64]),
    other: (&[f64], &[f64]),
    alpha: f64,
) -> Option<Difference> {
    let (base, base_errors) = linearised(baseline.0, baseline.1)?;
    let (value, errors) = linearised(other.0, other.1)?;
    if base_errors.len() != errors.len() {
        return None;
    }
    let pairs = errors.iter().zip(base_errors);
    let errors: Vec<f64> = pairs.map(|(other, base)| other - base).collect();
    Some(with_interval(value - base, &errors, alpha))
}

/// The ratio of the sums, and the error of each epoch against it.
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

fn with_interval(value: f64, errors: &[f64], alpha: f64) -> Difference {
    let n = errors.len();
    let freedom = n as f64 - 1.0;
    let Some((variance, t)) = variance(errors).zip(t_critical(alpha, freedom)) else {
        return Difference {
            estimate: Estimate::without_interval(value, n),
            p: None,
        };
    };
    let error = (variance / n as f64).sqrt();
    Difference {
        estimate: Estimate {
            value,
            lo: value - t * error,
            hi: value + t * error,
            n,
        },
        p: (error > 0.0)
            .then(|| t_two_sided_p(value / error, freedom))
            .flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_sums_weighs_each_request_alike() {
        let found = per_request(&[10.0, 30.0], &[1.0, 3.0], 0.05).unwrap();
        assert_eq!((found.value, found.lo, found.hi), (10.0, 10.0, 10.0));
        // 1 and 3 of one request each: 2 ± 12.706·√2/√2.
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
            amounts
                .map(|(idx, n)| n * cost * (1.0 + 0.01 * (idx % 3) as f64))
                .collect()
        });
        let whole: Vec<f64> = (0..requests.len())
            .map(|idx| parts.iter().map(|it| it[idx]).sum())
            .collect();
        let of = |it: &[f64]| per_request(it, &requests, 0.05).unwrap().value;
        let sum: f64 = parts.iter().map(|it| of(it)).sum();
        assert!((sum - of(&whole)).abs() < 1e-9);
    }

    #[test]
    fn what_disturbs_both_arms_of_an_epoch_cancels() {
        let requests = [1_000.0; 8];
        let base: Vec<f64> = (0..8)
            .map(|idx| 5_000.0 + 900.0 * f64::from(idx % 4))
            .collect();
        let other: Vec<f64> = base
            .iter()
            .enumerate()
            .map(|(idx, it)| it + 500.0 + (idx % 2) as f64)
            .collect();
        let found = per_request_difference((&base, &requests), (&other, &requests), 0.05).unwrap();
        let estimate = found.estimate;
        assert!(estimate.lo > 0.499 && estimate.hi < 0.502, "{estimate:?}");
        assert!(found.p.unwrap() < 1e-9);
        let alike = per_request_difference((&base, &requests), (&base, &requests), 0.05).unwrap();
        assert_eq!((alike.estimate.value, alike.p), (0.0, None));
    }
}
