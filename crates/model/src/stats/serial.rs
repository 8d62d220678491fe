//! The mean of a series that was observed over a continuous time: neighbouring values are similar, and the interval
//! must account for this.
//!
//! Used if the order of the values is not random: `watch` only observes, one look after the other. A look is a short
//! period whose counts are kept separately.

use crate::stats::Estimate;
use crate::stats::diagnostics::lag1_autocorrelation;
use crate::stats::distributions::t_critical;
use crate::stats::moments::{mean, variance};

/// Minimum number of looks; fewer looks do not show how much looks vary.
pub const LEAST_LOOKS: usize = 6;
/// The highest autocorrelation that is accepted; a higher autocorrelation cannot be distinguished from a drift.
const MOST_LIKE: f64 = 0.9;

/// Computes the mean of values in order of time, with its t interval of level 1 − `alpha`.
///
/// With r as the correlation of neighbours, n values count as n·(1 − r)/(1 + r) independent values, also for the
/// degrees of freedom. Because a short series underestimates r, (1 + 4r)/n is added to r; a negative r counts as 0.
/// Returns `None` for fewer than [`LEAST_LOOKS`] values.
///
/// # Source
/// Thiébaux and Zwiers, The interpretation and estimation of effective sample size, Journal of Climate and Applied
/// Meteorology 23 (1984) 800-811; Kendall, Note on bias in the estimation of autocorrelation, Biometrika 41 (1954)
/// 403-404.
pub fn serial_mean(values: &[f64], alpha: f64) -> Option<Estimate> {
    let n = values.len();
    if n < LEAST_LOOKS {
        return None;
    }
    let found = lag1_autocorrelation(values).unwrap_or(0.0);
    let like = (found + (1.0 + 4.0 * found) / n as f64).clamp(0.0, MOST_LIKE);
    let independent = n as f64 * (1.0 - like) / (1.0 + like);
    let freedom = (independent - 1.0).max(1.0);
    let half = t_critical(alpha, freedom)? * (variance(values)? / independent).sqrt();
    let value = mean(values);
    Some(Estimate { value, lo: value - half, hi: value + half, n })
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    /// Returns for which share of 4,000 simulated series of `n` looks the interval contains the true mean; each look
    /// takes the share `like` from the previous look.
    fn coverage(n: usize, like: f64) -> f64 {
        let mut random = SplitMix64::seed_from_u64(48);
        let mut normal = || {
            let sum: f64 = (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum();
            sum - 6.0
        };
        let n_runs = 4_000;
        let n_covered = (0..n_runs)
            .filter(|_| {
                let mut last = normal() / (1.0 - like * like).sqrt();
                let values = (0..n).map(|_| {
                    last = like * last + normal();
                    10.0 + last
                });
                serial_mean(&values.collect::<Vec<_>>(), 0.05).unwrap().covers(10.0)
            })
            .count();
        n_covered as f64 / f64::from(n_runs)
    }

    #[test]
    fn it_covers_the_truth_about_as_often_as_it_says() {
        for (n, like, least) in [(10, 0.0, 0.95), (20, 0.0, 0.95), (20, 0.3, 0.93), (20, 0.5, 0.91), (20, 0.7, 0.87)] {
            let found = coverage(n, like);
            assert!(found >= least, "{n} looks, {like}: {found}");
        }
    }

    #[test]
    fn few_looks_have_no_interval() {
        assert_eq!(serial_mean(&[1.0; LEAST_LOOKS - 1], 0.05), None);
        let still = serial_mean(&[1.0; LEAST_LOOKS], 0.05).unwrap();
        assert_eq!((still.lo, still.hi), (1.0, 1.0));
    }
}
