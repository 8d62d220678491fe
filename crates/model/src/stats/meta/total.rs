//! Estimates the CPU time that a whole fleet loses if only a part of the fleet was measured.
//!
//! Goes through the hosts once; `groups` provides the mean and τ² of each kind. Called for the fleet's report.

use super::effect::Effect;
use super::lost::{cores, is_rate};
use super::pool::around;
use super::shrink::{MANY, Prior, satterthwaite};
use crate::stats::Estimate;
use crate::stats::distributions::t_critical;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Host {
    /// Requests over TCP, per second.
    pub requests_per_s: f64,
    /// The host's kind, as the index of its prior.
    pub prior_idx: usize,
    /// The host's own effect, if it was measured.
    pub effect: Option<Effect>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Total {
    /// Cores lost; its `n` is the number of hosts in the sum.
    pub cores: Estimate,
    /// Requests over TCP, per second.
    pub requests_per_s: f64,
    /// Number of hosts with their own effect.
    pub n_measured: usize,
    /// Number of hosts for which the prediction of their kind is used.
    pub n_predicted: usize,
    /// Number of hosts whose rate or kind is not known; these hosts are not included in the other figures.
    pub n_left_out: usize,
    /// Standard error of the sum, in cores, that comes from the measured hosts' own errors.
    pub error_of_measured: f64,
    /// Standard error of the sum, in cores, that comes from the differences between hosts that were not measured.
    pub error_of_predicted: f64,
    /// Standard error of the sum, in cores, that comes from the means of the kinds; all hosts of a kind share this
    /// error.
    pub error_of_means: f64,
}

/// Sums the CPU time that `hosts` lose, with an interval of level 1 − `alpha`; each host has a kind in `priors`.
///
/// Estimand: Σ Lᵢ = Σ rateᵢ·cᵢ over exactly these hosts, as in [`cores_lost`](crate::stats::meta::cores_lost), with the
/// true cᵢ of each host. It is not the mean of a population of fleets, so a host that was measured without error adds
/// no error. Given the means μ of the kinds, the cᵢ of different hosts are independent. Each cᵢ has the posterior's
/// value m as its mean, and the posterior's own variance V; for a host that was not measured, V = τ².
///
/// ```text
/// value     Σ rate·m
/// own       Σ rate²·V                               separate sums for measured and for other hosts
/// means     Σ_kinds var(μ)·(Σ rate·borrowed)²       one error for all hosts of a kind: it does not cancel
/// interval  value ± t·√(own + means)                t at Satterthwaite's degrees of freedom
/// ```
///
/// Assumes that the choice of the measured hosts depends neither on their effects within their kind nor on their rates.
/// If the busiest hosts were not measured and have another tax than the measured hosts, the sum is wrong, and the
/// interval does not show this error. The rates are treated as known. The means of different kinds have independent
/// errors; this is nearly true if one kind has the prior of the whole fleet. If a few hosts have most of the requests,
/// the sum is only as close to a normal distribution as the effects of these hosts. Returns `None` if there are no
/// hosts, for an `alpha` out of range, or if a variance is so large that the sum is not a number.
///
/// Example: two hosts with 100,000 requests per second each, both not measured, and a kind with μ = 5 µs of variance
/// 0.04 µs² and τ² = 0: m = 5 and V = 0, so the result is 1 core with the error 0.2 µs · 200,000/s = 0.04, since both
/// hosts have the same error.
///
/// # Cost
/// O(hosts + kinds); the hosts may be a stream.
pub fn total(priors: &[Prior], hosts: impl IntoIterator<Item = Host>, alpha: f64) -> Option<Total> {
    let mut kinds = vec![Kind::default(); priors.len()];
    let mut n_left_out = 0;
    for host in hosts {
        match (priors.get(host.prior_idx), kinds.get_mut(host.prior_idx)) {
            (Some(prior), Some(kind)) if is_rate(host.requests_per_s) => kind.add(prior, &host),
            _ => n_left_out += 1,
        }
    }
    finish(priors, &kinds, n_left_out, alpha)
}

/// Sums over the hosts of a kind.
#[derive(Clone, Copy, Default)]
struct Kind {
    n_measured: usize,
    n_predicted: usize,
    requests_per_s: f64,
    lost_us: f64,
    slope: f64,
    measured_variance: f64,
    /// Σ variance²/freedom of the measured hosts.
    measured_loss: f64,
    predicted_variance: f64,
}

impl Kind {
    fn add(&mut self, prior: &Prior, host: &Host) {
        let effect = prior.posterior(host.effect.as_ref());
        let rate = host.requests_per_s;
        let variance = rate * rate * effect.own_variance;
        self.requests_per_s += rate;
        self.lost_us += rate * effect.value;
        self.slope += rate * effect.borrowed;
        if host.effect.is_some() {
            self.n_measured += 1;
            self.measured_variance += variance;
            self.measured_loss += variance * variance / effect.own_freedom;
        } else {
            self.n_predicted += 1;
            self.predicted_variance += variance;
        }
    }

    /// Returns the variance that comes from the error of the kind's mean.
    fn of_mean(&self, prior: &Prior) -> f64 {
        if self.slope > 0.0 { self.slope * self.slope * prior.mean_variance } else { 0.0 }
    }
}

fn finish(priors: &[Prior], kinds: &[Kind], n_left_out: usize, alpha: f64) -> Option<Total> {
    let sum = |part: fn(&Kind) -> f64| kinds.iter().map(part).sum::<f64>();
    let n_measured = kinds.iter().map(|it| it.n_measured).sum();
    let n_predicted = kinds.iter().map(|it| it.n_predicted).sum();
    let measured = sum(|it| it.measured_variance);
    let predicted = sum(|it| it.predicted_variance);
    let of_means = || kinds.iter().zip(priors).map(|(kind, prior)| kind.of_mean(prior));
    let means: f64 = of_means().sum();
    let value = sum(|it| it.lost_us);
    let variance = measured + predicted + means;
    let n_hosts: usize = n_measured + n_predicted;
    let is_usable = n_hosts > 0 && alpha > 0.0 && alpha < 1.0;
    if !(is_usable && value.is_finite() && variance.is_finite()) {
        return None;
    }
    // The measured hosts of all kinds together, with the degrees of freedom of their sum.
    let loss = sum(|it| it.measured_loss);
    let freedom_of_measured = if loss > 0.0 { measured * measured / loss } else { f64::INFINITY };
    let of_kinds = kinds
        .iter()
        .zip(priors)
        .zip(of_means())
        .flat_map(|((kind, prior), mean)| [(kind.predicted_variance, prior.freedom), (mean, prior.freedom)]);
    let freedom = satterthwaite(of_kinds.chain([(measured, freedom_of_measured)]));
    let critical = t_critical(alpha, freedom.min(MANY));
    Some(Total {
        cores: around(value, variance, critical, n_hosts).map_monotone(cores),
        requests_per_s: sum(|it| it.requests_per_s),
        n_measured,
        n_predicted,
        n_left_out,
        error_of_measured: cores(measured.sqrt()),
        error_of_predicted: cores(predicted.sqrt()),
        error_of_means: cores(means.sqrt()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    const SAME: Prior =
        Prior { mean: 5.0, mean_variance: 0.04, tau_squared: 0.0, tau_squared_variance: 0.0, freedom: 99.0 };

    fn host(requests_per_s: f64, prior_idx: usize, effect: Option<Effect>) -> Host {
        Host { requests_per_s, prior_idx, effect }
    }

    #[test]
    fn the_example_comes_out() {
        let found = total(&[SAME], [host(100_000.0, 0, None); 2], 0.05).unwrap();
        close(found.cores.value, 1.0, 1e-12);
        close(found.cores.half_width(), 0.04 * 1.984_217, 1e-6);
        close(found.error_of_means, 0.04, 1e-12);
        assert_eq!((found.n_measured, found.n_predicted), (0, 2));
    }

    #[test]
    fn a_host_measured_exactly_adds_no_error() {
        let prior = Prior { tau_squared: 0.04, ..SAME };
        let exact = Effect::new(0.5, 1e-18, f64::INFINITY).unwrap();
        let found = total(&[prior], [host(4e6, 0, Some(exact))], 0.05).unwrap();
        close(found.cores.value, 2.0, 1e-9);
        assert!(found.cores.half_width() < 1e-7, "{found:?}");
    }

    // Computed by hand: the own variance of each host is 1²·0.04, and the variance from the mean is (2·1)²·0.04.
    #[test]
    fn both_kinds_of_uncertainty_are_in_the_interval() {
        let prior = Prior { tau_squared: 0.04, ..SAME };
        let found = total(&[prior], [host(1e6, 0, None); 2], 0.05).unwrap();
        close(found.cores.value, 10.0, 1e-12);
        close(found.error_of_predicted, 0.08_f64.sqrt(), 1e-12);
        close(found.error_of_means, 0.4, 1e-12);
    }

    #[test]
    fn kinds_that_are_not_known_and_rates_that_are_none_are_counted_apart() {
        let hosts = [host(1.0, 0, None), host(f64::NAN, 0, None), host(-1.0, 0, None), host(1.0, 7, None)];
        let found = total(&[SAME], hosts, 0.05).unwrap();
        assert_eq!((found.n_left_out, found.cores.n), (3, 1));
        close(found.requests_per_s, 1.0, 0.0);
        assert_eq!(total(&[SAME], [host(1.0, 7, None)], 0.05), None);
        assert_eq!(total(&[], [], 0.05), None);
        assert_eq!(total(&[SAME], [host(1.0, 0, None)], f64::NAN), None);
        assert_eq!(total(&[SAME], [host(1e300, 0, None)], 0.05), None);
    }
}
