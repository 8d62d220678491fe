//! Pools the effects of many hosts: their mean, and how much the hosts differ.
//!
//! Calls `tau` for τ² and `sums` for everything else. Called for a fleet, and by `groups` for each group of a fleet.

use super::effect::Effect;
use super::sums::Sums;
use super::tau::{Spread, profile, scaled_q};
use crate::stats::Estimate;
use crate::stats::distributions::{chi_squared_tail, normal_critical, t_critical};

/// A fleet, or a part of it, under random effects: the true effect θᵢ of host i is drawn around μ with variance τ².
///
/// The intervals have the level 1 − `alpha` that was passed to [`pool`]; the `n` of each interval is the number of
/// hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pooled {
    pub n_hosts: usize,
    /// μ, the mean of the true effects, with Hartung's and Knapp's interval. It has no interval for fewer than two
    /// hosts.
    pub mean: Estimate,
    /// The squared standard error of `mean`; +∞ for fewer than two hosts.
    pub mean_variance: f64,
    /// The mean with weights by precision only; its interval is valid if all true effects are the same.
    pub fixed: Estimate,
    /// τ², the variance of the true effects, with its Q-profile interval.
    pub tau_squared: Estimate,
    /// The squared standard error of the estimate of τ²; its distribution is not normal. +∞ for fewer than two hosts.
    pub tau_squared_variance: f64,
    /// I², the share of τ² in the variance of a typical host's measured effect, from 0 to 1. The rest of this variance
    /// is the host's own error.
    pub i_squared: Estimate,
    /// H²: the variance of a typical host's measured effect divided by the part that the host's own error explains; at
    /// least 1.
    pub h_squared: Estimate,
    /// Whether the hosts' true effects differ at all.
    pub homogeneity: Homogeneity,
    /// The predicted true effect of one more host of the same kind. It has no interval for fewer than three hosts.
    pub prediction: Estimate,
}

/// Cochran's test of whether all hosts have the same true effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Homogeneity {
    /// Q = Σ (θ − fixed mean)²/v.
    pub q: f64,
    /// The mean of Q if the hosts do not differ: k − 1 for known variances, and more for estimated variances.
    pub expected: f64,
    /// Probability that Q is at least as large by chance; `None` for fewer than two hosts.
    pub p: Option<f64>,
}

/// Pools hosts under random effects; `spread` selects the estimate of τ², and intervals have the level 1 − `alpha`.
///
/// Estimands: μ, the mean of the true effects in the population from which these hosts are a sample (each host counts
/// once, not each request); τ², the variance of the true effects; the true effect of one more host from this
/// population. With w = 1/(v + τ²) and k hosts:
///
/// ```text
/// μ           Σwθ/Σw ± t(k−1)·se      se² = max(1, q)·Σ w·excess/(Σw)²    q = Q(τ²)/E Q(τ²)
/// new host    μ ± t(k−2)·√(τ² + se²)
/// fixed mean  the same with τ² = 0, ± z
/// I²          τ²/(τ² + s²)   H² = 1 + τ²/s²   s² of `Sums::typical_variance`; ends from those of τ²
/// ```
///
/// The factor q is Hartung's, Knapp's, Sidik's and Jonkman's. The 1 is a guard: if effects agree by chance, it keeps
/// their interval from being narrower than the plain interval. The excess is 1 for known variances (`Effect::moments`).
/// Assumes independent hosts, variances that do not depend on the effects, and true effects that are roughly normal.
/// The last assumption is important for the new host, but not for the mean of many hosts. For one host the result is
/// its value without an interval, since nothing is known about other hosts. For two equal hosts the interval comes from
/// their own errors, with t(1). Returns `None` if there are no hosts, and for an `alpha` that is not between 0 and 1.
///
/// Example: effects ±1 of known variance 0.5 give μ = 0, τ² = 1.5, se² = 1, and μ ± 12.706.
///
/// # Cost
/// O(k) for each of at most a few hundred steps; nothing is allocated.
///
/// # Source
/// Hartung and Knapp, Statistics in Medicine 20 (2001) 3875-3889; Sidik and Jonkman, ibid. 21 (2002)
/// 3153-3159; the guard: Röver, Knapp and Friede, BMC Medical Research Methodology 15 (2015) 99; new host:
/// Higgins, Thompson and Spiegelhalter, JRSS A 172 (2009) 137-159.
pub fn pool(effects: &[Effect], spread: Spread, alpha: f64) -> Option<Pooled> {
    let is_level = alpha > 0.0 && alpha < 1.0;
    let n_hosts = effects.len();
    let tau_squared = spread.estimate(&[effects]);
    let (plain, random) = (Sums::over(effects, 0.0), Sums::over(effects, tau_squared));
    let middle = random.mean().filter(|_| is_level)?;
    let mean_variance = mean_variance(&random);
    let freedom = n_hosts as f64 - 1.0;
    let (lo, hi) = profile(&[effects], alpha);
    let tau_squared = Estimate { value: tau_squared, lo: lo.min(tau_squared), hi: hi.max(tau_squared), n: n_hosts };
    let typical = typical_variance(&plain, effects);
    Some(Pooled {
        n_hosts,
        mean: around(middle, mean_variance, t_critical(alpha, freedom), n_hosts),
        mean_variance,
        fixed: around(plain.mean()?, plain.variance_of_mean(), Some(normal_critical(alpha)), n_hosts),
        tau_squared,
        tau_squared_variance: tau_squared_variance(&random),
        i_squared: tau_squared.map_monotone(|it| 1.0 - typical / (typical + it)),
        h_squared: tau_squared.map_monotone(|it| 1.0 + it / typical),
        homogeneity: homogeneity(&plain),
        prediction: around(middle, tau_squared.value + mean_variance, t_critical(alpha, freedom - 1.0), n_hosts),
    })
}

/// Returns se² of the mean; +∞ for one host, which cannot show how other hosts differ.
fn mean_variance(random: &Sums) -> f64 {
    if random.n_hosts() < 2 {
        return f64::INFINITY;
    }
    let scale = (random.q() / random.expected_q()).max(1.0);
    scale * random.variance_of_mean()
}

fn tau_squared_variance(random: &Sums) -> f64 {
    if random.n_hosts() < 2 {
        return f64::INFINITY;
    }
    random.variance_of_tau_squared()
}

fn typical_variance(plain: &Sums, effects: &[Effect]) -> f64 {
    match effects {
        [only] => only.variance(),
        _ => plain.typical_variance(),
    }
}

fn homogeneity(plain: &Sums) -> Homogeneity {
    let (q, expected) = (plain.q(), plain.expected_q());
    let (scaled, freedom) = scaled_q(q, expected, plain.variance_of_q());
    Homogeneity { q, expected, p: chi_squared_tail(scaled, freedom) }
}

/// Returns `middle` ± `critical`·√`variance`; without an interval if `critical` is missing or the width is not finite.
pub(super) fn around(middle: f64, variance: f64, critical: Option<f64>, n: usize) -> Estimate {
    let half_width = critical.map(|it| it * variance.sqrt());
    let Some(half_width) = half_width.filter(|it| it.is_finite()) else {
        return Estimate::without_interval(middle, n);
    };
    Estimate { value: middle, lo: middle - half_width, hi: middle + half_width, n }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    const BOTH: [Spread; 2] = [Spread::PauleMandel, Spread::RestrictedLikelihood];

    fn known(rows: &[(f64, f64)]) -> Vec<Effect> {
        let effect = |(value, variance): &(f64, f64)| Effect::new(*value, *variance, f64::INFINITY).unwrap();
        rows.iter().map(effect).collect()
    }

    #[test]
    fn the_example_comes_out() {
        for spread in BOTH {
            let found = pool(&known(&[(-1.0, 0.5), (1.0, 0.5)]), spread, 0.05).unwrap();
            close(found.tau_squared.value, 1.5, 1e-9);
            close(found.mean.value, 0.0, 1e-12);
            close(found.mean_variance, 1.0, 1e-9);
            close(found.mean.hi, 12.706_205, 1e-5);
            close(found.tau_squared.lo, 0.0, 0.0);
            close(found.tau_squared.hi / (2.0 / 0.000_982_069_1), 1.0, 1e-3);
            close(found.homogeneity.q, 4.0, 1e-12);
            close(found.i_squared.value, 0.75, 1e-9);
            close(found.h_squared.value, 4.0, 1e-8);
            assert!(!found.prediction.has_interval(), "two hosts predict none");
        }
    }

    #[test]
    fn one_host_says_nothing_of_others() {
        let found = pool(&known(&[(0.1, 0.01)]), Spread::PauleMandel, 0.05).unwrap();
        assert!(!found.mean.has_interval() && !found.prediction.has_interval());
        close(found.mean.value, 0.1, 0.0);
        assert_eq!((found.tau_squared.lo, found.tau_squared.hi), (0.0, f64::INFINITY));
        assert_eq!((found.i_squared.lo, found.i_squared.hi), (0.0, 1.0));
        assert_eq!(found.homogeneity.p, None);
        close(found.fixed.hi, 0.1 + 0.195_996_4, 1e-6);
        assert_eq!(pool(&[], Spread::PauleMandel, 0.05), None);
    }

    #[test]
    fn effects_that_agree_keep_the_width_of_their_own_errors() {
        for spread in BOTH {
            let found = pool(&known(&[(0.2, 0.04); 4]), spread, 0.05).unwrap();
            close(found.tau_squared.value, 0.0, 0.0);
            close(found.mean_variance, 0.01, 1e-15);
            close(found.mean.value, 0.2, 1e-15);
            assert_eq!((found.tau_squared.lo, found.tau_squared.hi), (0.0, 0.0));
            close(found.homogeneity.p.unwrap(), 1.0, 1e-12);
        }
    }

    #[test]
    fn a_level_that_is_none_is_refused() {
        for alpha in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(pool(&known(&[(0.1, 0.01); 3]), Spread::PauleMandel, alpha), None);
        }
    }

    #[test]
    fn hostile_effects_end_and_stay_numbers() {
        let extremes = [1e-18, 1e-9, 1.0, 1e6];
        for spread in BOTH {
            for (one, other) in extremes.iter().flat_map(|a| extremes.map(|b| (*a, b))) {
                for far in [0.0, 1e-9, 1.0, 1e3] {
                    let rows = [(-far, one), (far, other), (far, one), (0.3, other)];
                    let found = pool(&known(&rows), spread, 0.05).unwrap();
                    let t = found.tau_squared;
                    assert!(found.mean.has_interval(), "{rows:?}: {found:?}");
                    assert!(found.prediction.has_interval(), "{rows:?}: {found:?}");
                    assert!(t.lo >= 0.0 && t.lo <= t.value && t.value <= t.hi, "{t:?}");
                    assert!((0.0..=1.0).contains(&found.i_squared.value), "{found:?}");
                }
            }
        }
    }
}
