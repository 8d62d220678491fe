//! τ², the variance of the true effects between hosts: two estimates, and an interval.
//!
//! The hosts are in groups that each have a mean; in the simplest case there is one group. Called by `pool` and
//! `groups`. Every search halves its bracket at every second step, so it ends for any input.

use super::effect::Effect;
use super::sums::Sums;
use crate::stats::distributions::chi_squared_cdf;

/// Largest number of steps of a search: half of them are halvings, which reduce 1e6 to less than 1e-18; the other
/// steps give the remaining digits.
const MOST_STEPS: usize = 320;
/// Relative length of the bracket at which the search ends.
const PRECISION: f64 = 1e-11;
/// Largest τ² of the search: larger than the squared distance between any two values, divided by the smallest χ² that
/// is used.
const LARGEST_TAU_SQUARED: f64 = 1e13;

/// The method by which the variance between hosts is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// The τ² at which Q equals its expected value. This method does not need normal effects, and takes into account
    /// that the variances are only estimates.
    #[default]
    PauleMandel,
    /// The maximum of the restricted likelihood, for normal effects and known variances.
    RestrictedLikelihood,
}

impl Spread {
    /// Estimates τ² of hosts in groups that each have a mean; returns 0 if the hosts do not differ more than their own
    /// errors explain.
    pub(super) fn estimate(self, groups: &[&[Effect]]) -> f64 {
        match self {
            Self::PauleMandel => paule_mandel(groups),
            Self::RestrictedLikelihood => restricted_likelihood(groups),
        }
    }
}

/// Returns Q, its mean and its variance, over all groups, if `tau_squared` is the true τ².
pub(super) fn generalised_q(groups: &[&[Effect]], tau_squared: f64) -> (f64, f64, f64) {
    let sums = groups.iter().map(|group| Sums::over(group, tau_squared));
    sums.fold((0.0, 0.0, 0.0), |(q, expected, variance), sums| {
        (q + sums.q(), expected + sums.expected_q(), variance + sums.variance_of_q())
    })
}

/// Finds the τ² with Q(τ²) = E Q(τ²), by Paule and Mandel.
///
/// Estimand: the variance of the hosts' true effects around the mean of their group. With known variances, E Q is k −
/// groups, and this is the published estimate. With estimated variances, E Q is larger ([`Effect::moments`]): at ten
/// epochs E Q is 1.29 k. Without this correction, variances that are small by chance would be mistaken for differences
/// between hosts: 10,000 hosts that do not differ at all would certainly be reported as different. Assumes independent
/// hosts, and variances that do not depend on the effects. Returns 0 if Q(0) ≤ E Q(0), or if every group has fewer than
/// two hosts.
///
/// Example: for effects ±1 of known variance 0.5, Q(τ²) = 2/(0.5 + τ²) is 1 at τ² = 1.5.
///
/// # Source
/// Paule and Mandel, Consensus values and weighting factors, Journal of Research of the NBS 87 (1982)
/// 377-385.
fn paule_mandel(groups: &[&[Effect]]) -> f64 {
    falling_root(|tau_squared| {
        let (q, expected, _) = generalised_q(groups, tau_squared);
        q - expected
    })
}

/// Finds the τ² at which the restricted likelihood has its maximum.
///
/// The estimand, and the results for degenerate input, are those of [`paule_mandel`]. The result is the root of the
/// score, which is, up to a factor:
///
/// ```text
/// Σ_groups ( Σ w²·(θ − mean)² − Σ w + Σ w²/Σ w )
/// ```
///
/// Assumes normal effects and known variances. Returns 0 if the score is not positive at 0.
///
/// Example: for effects ±1 of variance 0.5, w²·2 − 2w + w = 0 at w = 0.5, so τ² = 1.5.
///
/// # Source
/// Viechtbauer, Bias and efficiency of meta-analytic variance estimators in the random-effects model,
/// Journal of Educational and Behavioral Statistics 30 (2005) 261-293.
fn restricted_likelihood(groups: &[&[Effect]]) -> f64 {
    falling_root(|tau_squared| groups.iter().map(|group| score(group, tau_squared)).sum())
}

fn score(group: &[Effect], tau_squared: f64) -> f64 {
    let sums = Sums::over(group, tau_squared);
    let Some(mean) = sums.mean().filter(|_| group.len() > 1) else {
        return 0.0;
    };
    let of_host = |effect: &Effect| {
        let weight = effect.weight(tau_squared);
        let deviation = effect.value() - mean;
        weight * weight * (deviation * deviation + 1.0 / sums.weight()) - weight
    };
    group.iter().map(of_host).sum()
}

/// Computes the Q-profile interval of τ² at level 1 − `alpha`: every τ² for which Q(τ²) is between its two quantiles.
///
/// Q divided by its scale is compared with χ², whose degrees of freedom are chosen to match Q's mean and variance. With
/// known variances this is χ² of k − groups, and the published interval. If Q is too small even at τ² = 0, the hosts
/// differ less than their errors would make them differ, and both ends are 0. If no group has two hosts, the result is
/// [0, +∞].
///
/// Example: for effects ±1 of variance 0.5, Q = 2/(0.5 + τ²) reaches the 2.5 % quantile of χ²(1), 0.000982, at τ² =
/// 2036, and the 97.5 % quantile, 5.024, below τ² = 0. So the interval is [0, 2036].
///
/// # Source
/// Viechtbauer, Confidence intervals for the amount of heterogeneity in meta-analysis, Statistics in Medicine
/// 26 (2007) 37-52.
pub(super) fn profile(groups: &[&[Effect]], alpha: f64) -> (f64, f64) {
    if groups.iter().all(|group| group.len() < 2) {
        return (0.0, f64::INFINITY);
    }
    let end = |level: f64| falling_root(|tau_squared| probability_below(groups, tau_squared) - level);
    (end(1.0 - alpha / 2.0), end(alpha / 2.0))
}

/// Returns the probability that Q is at most the observed Q, if `tau_squared` is the true τ².
fn probability_below(groups: &[&[Effect]], tau_squared: f64) -> f64 {
    let (q, expected, variance) = generalised_q(groups, tau_squared);
    let (scaled, freedom) = scaled_q(q, expected, variance);
    chi_squared_cdf(scaled, freedom).unwrap_or(0.0)
}

/// Returns Q divided by its scale, and the degrees of freedom of the χ² that has the same mean and variance.
pub(super) fn scaled_q(q: f64, expected: f64, variance: f64) -> (f64, f64) {
    (q * 2.0 * expected / variance, 2.0 * expected * expected / variance)
}

/// Finds the zero of `f`, which decreases from a positive value at 0; returns 0 if `f` is not positive at 0. If `f`
/// has several zeros, returns one of them; if it has no zero, returns [`LARGEST_TAU_SQUARED`].
///
/// Every second step is a secant step by the Illinois rule, so a few passes over the hosts are enough.
fn falling_root(f: impl Fn(f64) -> f64) -> f64 {
    let at_zero = f(0.0);
    if at_zero.is_nan() || at_zero <= 0.0 {
        return 0.0;
    }
    let (mut lo, mut above) = (0.0, at_zero);
    let (mut hi, mut below) = (1.0, f(1.0));
    while below > 0.0 && hi < LARGEST_TAU_SQUARED {
        (lo, above) = (hi, below);
        hi *= 16.0;
        below = f(hi);
    }
    for step in 0..MOST_STEPS {
        if hi - lo <= PRECISION * hi || hi < f64::MIN_POSITIVE {
            break;
        }
        let secant = lo + (hi - lo) * above / (above - below);
        let is_usable = step % 2 == 1 && secant > lo && secant < hi;
        // Far above the root, the search looks for the root's order of magnitude, not for its digits.
        let halved = if lo == 0.0 { hi / 16.0 } else { f64::midpoint(lo, hi) };
        let next = if is_usable { secant } else { halved };
        let there = f(next);
        if there > 0.0 {
            (lo, above, below) = (next, there, below / 2.0);
        } else if there < 0.0 {
            (hi, below, above) = (next, there, above / 2.0);
        } else {
            return next;
        }
    }
    f64::midpoint(lo, hi)
}
