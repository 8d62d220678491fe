//! Computes, for each host, the probability that the host is among the hosts that lose most.
//!
//! A ranking that uses only the estimates does not show how small the differences between neighbouring hosts are.
//! Called for the ranking of a fleet.

use super::lost::is_rate;
use crate::stats::distributions::normal_cdf;

/// Largest number of halvings of the bracket around the threshold; f64 has no more digits.
const MOST_HALVINGS: usize = 100;
/// The search covers each host's mean loss, plus and minus this number of standard deviations.
const FAR: f64 = 40.0;

/// A host in a ranking by CPU time lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Number of requests per second over TCP.
    pub requests_per_s: f64,
    /// The host's effect, as in [`cores_lost`](crate::stats::meta::cores_lost).
    pub value: f64,
    pub variance: f64,
}

/// Returns, for each host, the probability that it is among the `n_top` hosts that lose most.
///
/// Estimand: P(Lᵢ > c), where c is the loss that `n_top` hosts exceed on average: Σ P(Lᵢ > c) = `n_top`. With many
/// independent hosts, c is nearly fixed, and this is the probability of a rank. With L = rate·effect and a normal
/// effect, P(L > c) = Φ((rate·m − c)/(rate·√V)). The sum of the probabilities is `n_top`. A host without a variance is
/// certainly above or below c, and has probability 1/2 if its loss is c. A host with a figure that is not a number has
/// probability 0 and is not ranked. If there are at most `n_top` hosts, all probabilities are 1.
///
/// Example: for rates of 1 and 1, and effects of 2 and 1 µs that each have variance 1, c is by symmetry the loss at
/// 1.5 µs, and the first host is in the top with probability Φ(0.5) = 0.6915.
///
/// # Cost
/// O(hosts) for each of some fifty steps.
///
/// # Source
/// Lin, Louis, Paddock and Ridgeway, Loss function based ranking in two-stage, hierarchical models, Bayesian
/// Analysis 1 (2006) 915-946.
pub fn top_probabilities(hosts: &[Candidate], n_top: usize) -> Vec<f64> {
    let usable = hosts.iter().filter(|it| it.is_usable());
    if usable.count() <= n_top {
        return hosts.iter().map(|it| f64::from(u8::from(it.is_usable()))).collect();
    }
    let threshold = threshold(hosts, n_top as f64);
    hosts.iter().map(|it| it.exceeds(threshold)).collect()
}

/// Finds the c with Σ P(L > c) = `n_top`.
fn threshold(hosts: &[Candidate], n_top: f64) -> f64 {
    let n_above = |c: f64| hosts.iter().map(|it| it.exceeds(c)).sum::<f64>();
    let usable = hosts.iter().filter(|it| it.is_usable());
    let ends = usable.map(|it| (it.loss_at(-FAR), it.loss_at(FAR)));
    let (mut lo, mut hi) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (a, b)| (lo.min(a), hi.max(b)));
    for _ in 0..MOST_HALVINGS {
        let middle = f64::midpoint(lo, hi);
        if middle <= lo || middle >= hi {
            break;
        }
        if n_above(middle) > n_top {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    f64::midpoint(lo, hi)
}

impl Candidate {
    fn is_usable(&self) -> bool {
        is_rate(self.requests_per_s) && self.value.is_finite() && self.variance.is_finite() && self.variance >= 0.0
    }

    /// Returns the loss that is `deviations` standard deviations above the mean loss.
    fn loss_at(&self, deviations: f64) -> f64 {
        self.requests_per_s * (self.value + deviations * self.variance.sqrt())
    }

    /// Returns P(loss > `threshold`).
    fn exceeds(&self, threshold: f64) -> f64 {
        if !self.is_usable() {
            return 0.0;
        }
        let above = self.loss_at(0.0) - threshold;
        let error = self.requests_per_s * self.variance.sqrt();
        if error > 0.0 {
            return normal_cdf(above / error);
        }
        f64::midpoint(1.0, above.partial_cmp(&0.0).map_or(0.0, |it| f64::from(it as i8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    fn host(requests_per_s: f64, value: f64, variance: f64) -> Candidate {
        Candidate { requests_per_s, value, variance }
    }

    #[test]
    fn the_example_comes_out() {
        let found = top_probabilities(&[host(1.0, 2.0, 1.0), host(1.0, 1.0, 1.0)], 1);
        close(found[0], 0.691_462_46, 1e-8);
        close(found[1], 1.0 - 0.691_462_46, 1e-8);
    }

    #[test]
    fn they_sum_up_to_the_places() {
        let hosts: Vec<Candidate> =
            (0..200).map(|idx| host(f64::from(idx % 17), 0.01 * f64::from(idx % 23) - 0.05, 0.003)).collect();
        for n_top in [1, 20, 120] {
            let found: f64 = top_probabilities(&hosts, n_top).iter().sum();
            close(found, n_top as f64, 1e-6);
        }
        assert!(top_probabilities(&hosts, 200).iter().all(|it| *it >= 1.0));
        assert!(top_probabilities(&hosts, 0).iter().all(|it| *it <= 1e-9));
    }

    #[test]
    fn everybody_may_lose_less_than_nothing() {
        let found = top_probabilities(&[host(50.0, -0.5, 0.01), host(50.0, -1.5, 0.01)], 1);
        assert!(found[0] > 0.99 && found[1] < 0.01, "{found:?}");
    }

    #[test]
    fn a_figure_that_is_none_takes_no_place() {
        let hosts = [
            host(f64::NAN, 0.1, 0.1),
            host(1.0, f64::INFINITY, 0.1),
            host(1.0, 0.1, -1.0),
            host(1.0, 0.3, 0.0),
            host(1.0, 0.1, 0.0),
            host(0.0, 0.1, 0.0),
        ];
        let found = top_probabilities(&hosts, 1);
        assert_eq!(found[..3], [0.0; 3]);
        assert!(found[3] > 0.4 && found[4] < 0.6 && found[5] < 0.1, "{found:?}");
        assert_eq!(top_probabilities(&hosts, 9), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        assert!(top_probabilities(&[], 3).is_empty());
    }
}
