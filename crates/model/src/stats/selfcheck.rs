//! The limits for passing the self-checks: A/A, injected delay, slice length.
//!
//! Each limit is applied to figures that the experiment collected; nothing is run in this file. Called by `doctor` and
//! the release gates.

use crate::stats::distributions::{normal_cdf, normal_critical};
use crate::stats::estimate::Estimate;
use crate::stats::moments::{mean, median, variance};
use crate::stats::quantile::binomial_cdf;

/// Share of runs in which a correct tool gives a false alarm; it is the level of the tool's intervals.
const FALSE_ALARM_SHARE: f64 = 0.05;
/// The probability with which a correct tool may fail the A/A gate.
const GATE_LEVEL: f64 = 0.01;
/// Number of intervals out of [`COVERAGE_RUNS`] that must contain the injected effect. A tool with 95 % coverage
/// reaches this number with probability 0.984.
const LEAST_COVERED: usize = 17;
/// Number of runs of the coverage check for one injected effect.
pub const COVERAGE_RUNS: usize = 20;
/// Two slice lengths agree if both ends of the interval of the difference between their taxes are at most this number
/// of percentage points away from zero.
const SLICE_LENGTH_TOLERANCE: f64 = 2.0;
/// If the half width of an interval is larger than this, the interval is useless, because it would contain nearly every
/// effect.
const WIDEST_POINTS: f64 = 2.0;

/// Returns the maximum number of false alarms that is accepted in `n_runs` A/A runs at the 5 % level.
///
/// It is the smallest x with P(X > x) ≤ 0.01 for X ~ Binomial(n, 0.05). Both `difference` and `negligible` count as
/// alarms. Assumes independent runs. For zero runs the result is 0.
///
/// Example: for 100 runs the result is 11, since P(X > 11) = 0.0043.
pub fn largest_accepted(n_runs: u64) -> u64 {
    (0..n_runs).find(|x| upper_tail(*x, n_runs) <= GATE_LEVEL).unwrap_or(0)
}

/// Returns P(X > x) for X ~ Binomial(n, 0.05).
fn upper_tail(x: u64, n_runs: u64) -> f64 {
    1.0 - binomial_cdf(x, n_runs, FALSE_ALARM_SHARE)
}

/// Returns whether at least half of the runs have intervals of ±2 percentage points or less: a machine must not pass
/// only because it is noisy. `half_widths` are in percentage points of tax; the result is `false` if there are none.
pub fn are_narrow(half_widths: &mut [f64]) -> bool {
    median(half_widths).is_some_and(|typical| typical <= WIDEST_POINTS)
}

/// The test whether the θ of A/A runs are centred on zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanTheta {
    /// The statistic mean/(sd/√n).
    pub z: f64,
    /// Two-sided p-value of z under the normal distribution.
    pub p_value: f64,
}

impl MeanTheta {
    /// Returns whether |z| < 3.
    pub fn passes(&self) -> bool {
        self.z.abs() < 3.0
    }
}

/// Tests that the mean θ of independent A/A runs is zero.
///
/// z = mean/(sd/√n), which is approximately normal for the 20 or more runs of a gate. Returns `None` for fewer than
/// two runs. If all θ are equal, z is 0 if they are zero, and otherwise infinite.
///
/// Example: for −1, 0, 1, 2 the mean is 0.5, sd is 1.290994, and z = 0.774597.
pub fn mean_theta(thetas: &[f64]) -> Option<MeanTheta> {
    let se = (variance(thetas)? / thetas.len() as f64).sqrt();
    let centre = mean(thetas);
    let z = if centre == 0.0 { 0.0 } else { centre / se };
    Some(MeanTheta { z, p_value: 2.0 * normal_cdf(-z.abs()) })
}

/// Returns how many of `n_runs` intervals must contain the injected effect: the same share as 17 of 20, rounded down,
/// but at least one. Assumes independent runs.
pub fn least_covered(n_runs: usize) -> usize {
    (n_runs * LEAST_COVERED / COVERAGE_RUNS).max(1)
}

/// Whether the effect depends on the slice length, as far as two runs show this.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SliceLength {
    /// Tax of the first run minus tax of the second run, in percentage points, with an interval at the runs' level.
    pub difference: Estimate,
    /// Whether the interval is within ±2 percentage points; `None` if only a part of the interval is within these
    /// limits, because the runs then do not show whether the taxes agree.
    pub agrees: Option<bool>,
}

/// Compares the taxes, in percent, of two runs with different slice lengths, both estimated at level
/// `alpha`.
///
/// Estimand: tax₁ − tax₂ of two independent runs, in percentage points. For each run se = half width/z(1 − α/2); the
/// interval is the difference ± z·√(se₁² + se₂²) with the same z. Treats the intervals as roughly normal. If a run has
/// no interval, the difference has no interval either, and `agrees` is `None`.
///
/// Example: 5 ± 0.3 % and 4 ± 0.4 % differ by 1 ± 0.5 points, so they agree.
pub fn slice_length(first: &Estimate, second: &Estimate, alpha: f64) -> SliceLength {
    let z = normal_critical(alpha);
    let se = |run: &Estimate| run.half_width() / z;
    let half_width = z * se(first).hypot(se(second));
    let value = first.value - second.value;
    let difference = Estimate { value, lo: value - half_width, hi: value + half_width, n: first.n.min(second.n) };
    let is_outside = difference.lo > SLICE_LENGTH_TOLERANCE || difference.hi < -SLICE_LENGTH_TOLERANCE;
    let agrees = if difference.lies_within(-SLICE_LENGTH_TOLERANCE, SLICE_LENGTH_TOLERANCE) {
        Some(true)
    } else if is_outside {
        Some(false)
    } else {
        None
    };
    SliceLength { difference, agrees }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::{close, load};

    fn interval(value: f64, half_width: f64) -> Estimate {
        Estimate { value, lo: value - half_width, hi: value + half_width, n: 20 }
    }

    #[test]
    fn the_gate_agrees_with_the_reference() {
        let vectors = load();
        let cases = vectors["V7_selfcheck_and_diagnostics"]["aa_accept"].as_object().unwrap();
        for (n_runs, expected) in cases {
            let n_runs = n_runs.parse().unwrap();
            let accepted = largest_accepted(n_runs);
            assert_eq!(accepted, expected["max_accept"].as_u64().unwrap());
            let tail = expected["tail_prob_above"].as_f64().unwrap();
            close(upper_tail(accepted, n_runs), tail, 1e-5);
        }
        assert_eq!(largest_accepted(0), 0);
    }

    #[test]
    fn a_mean_off_zero_is_noticed() {
        let found = mean_theta(&[-1.0, 0.0, 1.0, 2.0]).unwrap();
        close(found.z, 0.774_597, 1e-6);
        close(found.p_value, 0.438_578, 1e-5);
        assert!(found.passes());
        assert!(!mean_theta(&[0.1, 0.11, 0.1]).unwrap().passes());
        assert!(mean_theta(&[0.0; 5]).unwrap().passes());
        assert!(!mean_theta(&[0.1; 5]).unwrap().passes());
        assert_eq!(mean_theta(&[0.1]), None);
    }

    #[test]
    fn wide_intervals_show_nothing() {
        assert!(are_narrow(&mut [0.5, 9.0, 2.0]));
        assert!(!are_narrow(&mut [0.5, 9.0, 2.1]));
        assert!(!are_narrow(&mut [f64::INFINITY]));
        assert!(!are_narrow(&mut []));
    }

    #[test]
    fn seventeen_of_twenty_are_enough() {
        assert_eq!([20, 10, 2, 1, 0].map(least_covered), [17, 8, 1, 1, 1]);
    }

    #[test]
    fn slice_lengths_agree_only_when_shown() {
        let found = slice_length(&interval(5.0, 0.3), &interval(4.0, 0.4), 0.05);
        close(found.difference.half_width(), 0.5, 1e-12);
        assert_eq!(found.agrees, Some(true));
        let wide = slice_length(&interval(5.0, 2.0), &interval(5.0, 1.0), 0.05);
        assert_eq!(wide.agrees, None);
        let apart = slice_length(&interval(9.0, 0.3), &interval(4.0, 0.4), 0.05);
        assert_eq!(apart.agrees, Some(false));
        let none = Estimate::without_interval(5.0, 3);
        assert_eq!(slice_length(&interval(5.0, 0.1), &none, 0.05).agrees, None);
    }
}
