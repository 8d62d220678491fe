//! Who is among those that lose most, and how surely.
//!
//! A rank by the estimates alone says nothing of how close the next ones are. Called for the ranking of a
//! fleet.

use super::lost::is_load;
use crate::distributions::normal_cdf;

/// Halvings of the bracket around the threshold; f64 has no more digits.
const MOST_HALVINGS: usize = 100;
/// Doublings down to a threshold below everybody: from a core to 1e30 of them.
const MOST_DOUBLINGS: usize = 100;

/// A host in a ranking by CPU time lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Cores that its requests over TCP take, as for [`cores_lost`](crate::meta::cores_lost).
    pub load_cores: f64,
    /// Its effect.
    pub value: f64,
    /// The variance of that.
    pub variance: f64,
}

/// How probably each host is among the `n_top` that lose most.
///
/// Estimand: P(Lᵢ > c), where c is the loss that `n_top` hosts exceed on average: Σ P(Lᵢ > c) = `n_top`. With
/// independent hosts and many of them c is as good as fixed, and this is the probability of a rank. With
/// L = load·(1 − e^−θ) and a normal θ, P(L > c) = Φ((m + ln(1 − c/load))/√V), and 0 from c ≥ load on.
/// The probabilities sum up to `n_top`. A host without a variance is above or below for sure, 1/2 at c; one
/// with a figure that is no number has 0 and takes no part. All 1 where there are no more hosts than places.
///
/// Example: loads of 1, 1 with θ = 0.2 and 0.1, each of variance 0.01: by symmetry c is the loss at
/// θ = 0.15, and the first is at the top with Φ(0.5) = 0.6915.
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
        return hosts
            .iter()
            .map(|it| f64::from(u8::from(it.is_usable())))
            .collect();
    }
    let threshold = threshold(hosts, n_top as f64);
    hosts.iter().map(|it| it.exceeds(threshold)).collect()
}

/// The c with Σ P(L > c) = `n_top`.
fn threshold(hosts: &[Candidate], n_top: f64) -> f64 {
    let n_above = |c: f64| hosts.iter().map(|it| it.exceeds(c)).sum::<f64>();
    let usable = hosts.iter().filter(|it| it.is_usable());
    // Nobody loses more than the whole load.
    let mut hi = usable.map(|it| it.load_cores).fold(0.0, f64::max);
    let mut lo = -1.0;
    for _ in 0..MOST_DOUBLINGS {
        if n_above(lo) >= n_top {
            break;
        }
        (lo, hi) = (lo * 2.0, lo);
    }
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
        is_load(self.load_cores)
            && self.value.is_finite()
            && self.variance.is_finite()
            && self.variance >= 0.0
    }

    /// P(loss > `cores`).
    fn exceeds(&self, cores: f64) -> f64 {
        if !self.is_usable() {
            return 0.0;
        }
        let left = 1.0 - cores / self.load_cores;
        // Also for a load of zero, of which nothing can be lost.
        if left.is_nan() || left <= 0.0 {
            return 0.0;
        }
        let above = self.value + left.ln();
        if self.variance > 0.0 {
            return normal_cdf(above / self.variance.sqrt());
        }
        f64::midpoint(
            1.0,
            above
                .partial_cmp(&0.0)
                .map_or(0.0, |it| f64::from(it as i8)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::close;

    fn host(load_cores: f64, value: f64, variance: f64) -> Candidate {
        Candidate {
            load_cores,
            value,
            variance,
        }
    }

    #[test]
    fn the_example_comes_out() {
        let found = top_probabilities(&[host(1.0, 0.2, 0.01), host(1.0, 0.1, 0.01)], 1);
        close(found[0], 0.691_462_46, 1e-8);
        close(found[1], 1.0 - 0.691_462_46, 1e-8);
    }

    #[test]
    fn they_sum_up_to_the_places() {
        let hosts: Vec<Candidate> = (0..200)
            .map(|idx| {
                host(
                    f64::from(idx % 17),
                    0.01 * f64::from(idx % 23) - 0.05,
                    0.003,
                )
            })
            .collect();
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
        assert!(
            found[3] > 0.4 && found[4] < 0.6 && found[5] < 0.1,
            "{found:?}"
        );
        assert_eq!(top_probabilities(&hosts, 9), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        assert!(top_probabilities(&[], 3).is_empty());
    }
}
