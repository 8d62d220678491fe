//! Combines a host's own measurement with the mean of its group, weighted by their precision.
//!
//! Only arithmetic on the results of `pool` and `groups`. Called by `lost`, `top` and `total`.

use super::effect::Effect;
use super::pool::{Pooled, around};
use crate::stats::Estimate;
use crate::stats::distributions::{t_critical, t_two_sided_p};

/// The distribution that is assumed for a host before it is measured: the true effects of hosts of its kind vary
/// around `mean` with variance τ².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The estimated mean of the true effects.
    pub mean: f64,
    /// The squared standard error of `mean`; all hosts of the kind share this error.
    pub mean_variance: f64,
    pub tau_squared: f64,
    /// The squared standard error of τ²; 0 if τ² is treated as known.
    pub tau_squared_variance: f64,
    /// Degrees of freedom of `mean_variance` and τ².
    pub freedom: f64,
}

/// A host's effect, estimated from its measurement and its kind, or predicted from its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Posterior {
    pub value: f64,
    /// Variance of the part of the error that concerns only this host.
    pub own_variance: f64,
    /// Degrees of freedom of `own_variance`.
    pub own_freedom: f64,
    /// The share of the value that comes from the mean of the host's kind, from 0 to 1; 1 if the host was not measured.
    pub borrowed: f64,
    /// Variance of the error that this host shares with the other hosts of its kind: borrowed²·variance of the mean.
    pub shared_variance: f64,
    /// Degrees of freedom of `shared_variance`.
    pub shared_freedom: f64,
}

impl Pooled {
    /// Returns the distribution that is assumed for another host, estimated from these hosts; `None` for fewer than two
    /// hosts.
    pub fn prior(&self) -> Option<Prior> {
        (self.n_hosts > 1).then_some(Prior {
            mean: self.mean.value,
            mean_variance: self.mean_variance,
            tau_squared: self.tau_squared.value,
            tau_squared_variance: self.tau_squared_variance,
            freedom: self.n_hosts as f64 - 1.0,
        })
    }
}

impl Prior {
    /// Returns the probability that a host of this kind is measured at least as far from the mean, by t at
    /// Satterthwaite's degrees of freedom.
    ///
    /// Assumes that true effects are normal. The host itself is part of the mean, so it looks slightly more similar
    /// than it is. Returns `None` if there is no finite variance.
    ///
    /// Example: μ = 3 with variance 0, τ² = 1 from 100 hosts, a host of 6 with the known variance 1.25: 3/1.5 = 2, p =
    /// 0.0460.
    pub fn p_of(&self, measured: &Effect) -> Option<f64> {
        let variance = measured.variance() + self.tau_squared + self.mean_variance;
        let t = (measured.value() - self.mean) / variance.sqrt();
        let freedom = satterthwaite(
            [(measured.variance(), measured.freedom()), (self.tau_squared + self.mean_variance, self.freedom)]
                .into_iter(),
        );
        t_two_sided_p(t, freedom.min(MANY))
    }

    /// Estimates a host's effect by empirical Bayes; without a measurement, returns the prediction for its kind.
    ///
    /// Estimand: this host's true θ. With b = v/(v + τ²):
    ///
    /// ```text
    /// value   θ − b·(θ − μ)
    /// own     min(v, b·τ² + 2·b²·var(τ²)/(v + τ²))     of a host that was not measured: τ²
    /// shared  b²·var(μ)
    /// ```
    ///
    /// The second part of `own` accounts for the error of τ²: without this part, hosts whose τ² is 0 by chance would
    /// count as exactly known. The result for a host is never less certain than the host's own measurement. Assumes
    /// that the true effects of the kind are normal around μ; if they are not, hosts far from μ are pulled too far
    /// towards μ. If τ² is 0 and known, every host has the mean, and its own error is zero.
    ///
    /// Example: μ = 0.10 with variance 0.0001, τ² = 0.01 with variance 0.000002, and a host that was measured at 0.30
    /// with variance 0.01: b = 0.5, value 0.20, own 0.005 + 2·0.25·0.000002/0.02 = 0.00505, shared 0.000025.
    ///
    /// # Source
    /// Morris, Parametric empirical Bayes inference, JASA 78 (1983) 47-55; Raudenbush and Bryk, Empirical Bayes
    /// meta-analysis, Journal of Educational Statistics 10 (1985) 75-98; the error of Paule's and Mandel's τ² (which
    /// this source calls Fay's and Herriot's): Datta, Rao and Smith, On measuring the variability of small area
    /// estimators, Biometrika 92 (2005) 183-196.
    pub fn posterior(&self, measured: Option<&Effect>) -> Posterior {
        let Some(measured) = measured else {
            return self.prediction();
        };
        let borrowed = measured.own_share(self.tau_squared);
        let of_tau = 2.0 * borrowed * borrowed * self.tau_squared_variance * measured.weight(self.tau_squared);
        Posterior {
            value: measured.value() - borrowed * (measured.value() - self.mean),
            own_variance: (borrowed * self.tau_squared + of_tau).min(measured.variance()),
            own_freedom: measured.freedom(),
            borrowed,
            shared_variance: borrowed * borrowed * self.mean_variance,
            shared_freedom: self.freedom,
        }
    }

    fn prediction(&self) -> Posterior {
        Posterior {
            value: self.mean,
            own_variance: self.tau_squared,
            own_freedom: self.freedom,
            borrowed: 1.0,
            shared_variance: self.mean_variance,
            shared_freedom: self.freedom,
        }
    }
}

impl Posterior {
    /// Makes the posterior of a host about which only its own measurement is known.
    pub fn alone(measured: &Effect) -> Self {
        Self {
            value: measured.value(),
            own_variance: measured.variance(),
            own_freedom: measured.freedom(),
            borrowed: 0.0,
            shared_variance: 0.0,
            shared_freedom: f64::INFINITY,
        }
    }

    /// Returns the variance of the whole error, which is the own error and the shared error.
    pub fn variance(&self) -> f64 {
        self.own_variance + self.shared_variance
    }

    /// Returns the effect with its interval of level 1 − `alpha`: t at Satterthwaite's degrees of freedom; `n` is the
    /// integer part of these degrees of freedom.
    ///
    /// The interval contains the true effect for 1 − `alpha` of all hosts of the kind. This is not valid for a host
    /// that was selected because of its effect.
    pub fn estimate(&self, alpha: f64) -> Estimate {
        let parts = [(self.own_variance, self.own_freedom), (self.shared_variance, self.shared_freedom)];
        let freedom = satterthwaite(parts.into_iter());
        let critical = t_critical(alpha, freedom.min(MANY));
        around(self.value, self.variance(), critical, freedom.min(MANY) as usize)
    }
}

/// From this number of degrees of freedom on, the number counts as infinite: t differs from the normal distribution by
/// a millionth.
pub(super) const MANY: f64 = 1e6;

/// Computes the degrees of freedom of a sum of independent variances that each have their own degrees of freedom.
///
/// The formula is (Σv)²/Σ(v²/ν); +∞ if all variances are zero.
///
/// # Source
/// Satterthwaite, An approximate distribution of estimates of variance components, Biometrics Bulletin 2 (1946)
/// 110-114.
pub(super) fn satterthwaite(parts: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut total, mut lost) = (0.0, 0.0);
    for (variance, freedom) in parts {
        total += variance;
        lost += variance * variance / freedom;
    }
    if lost > 0.0 { total * total / lost } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    const PRIOR: Prior =
        Prior { mean: 0.1, mean_variance: 0.0001, tau_squared: 0.01, tau_squared_variance: 0.000_002, freedom: 99.0 };

    #[test]
    fn the_example_comes_out() {
        let effect = Effect::new(0.3, 0.01, f64::INFINITY).unwrap();
        let found = PRIOR.posterior(Some(&effect));
        close(found.value, 0.2, 1e-15);
        close(found.own_variance, 0.005_05, 1e-15);
        close(found.shared_variance, 0.000_025, 1e-15);
        assert!(found.estimate(0.05).covers(0.2));
    }

    #[test]
    fn a_host_far_from_its_kind_is_rare() {
        let prior = Prior { mean: 3.0, mean_variance: 0.0, tau_squared: 1.0, tau_squared_variance: 0.0, freedom: 99.0 };
        let p = |value| {
            let host = Effect::new(value, 1.25, f64::INFINITY).unwrap();
            prior.p_of(&host).unwrap()
        };
        // The p-value of t at 2.25²/(1²/99) = 501 degrees of freedom.
        close(p(6.0), 0.0460, 1e-4);
        close(p(3.0), 1.0, 1e-12);
    }

    #[test]
    fn a_host_that_was_not_measured_is_the_mean_of_its_kind() {
        let found = PRIOR.posterior(None);
        close(found.value, 0.1, 0.0);
        close(found.variance(), 0.0101, 1e-15);
        // 1.984217 is t(99): both variances have 99 degrees of freedom, and Satterthwaite's formula gives slightly
        // more for their sum.
        let half = found.estimate(0.05).half_width();
        close(half / found.variance().sqrt(), 1.984, 1e-3);
    }

    #[test]
    fn where_hosts_do_not_differ_all_have_the_mean() {
        let same = Prior { tau_squared: 0.0, tau_squared_variance: 0.0, ..PRIOR };
        let found = same.posterior(Some(&Effect::new(5.0, 0.01, 9.0).unwrap()));
        close(found.value, 0.1, 1e-12);
        close(found.own_variance, 0.0, 0.0);
        close(found.variance(), 0.0001, 1e-15);
    }

    #[test]
    fn no_host_is_known_worse_than_by_its_own_measurement() {
        let vague = Prior { tau_squared_variance: 100.0, ..PRIOR };
        let found = vague.posterior(Some(&Effect::new(0.3, 0.01, 9.0).unwrap()));
        close(found.own_variance, 0.01, 0.0);
    }

    #[test]
    fn a_precise_host_keeps_its_own_effect() {
        let found = PRIOR.posterior(Some(&Effect::new(0.5, 1e-12, 20.0).unwrap()));
        close(found.value, 0.5, 1e-9);
        close(found.own_variance, 1e-12, 1e-15);
        assert_eq!(found.estimate(0.05).n, 20);
    }
}
