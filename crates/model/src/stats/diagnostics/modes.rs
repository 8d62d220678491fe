//! Checks whether a series of rates jumps between two modes.
//!
//! The result is used for one sentence: "the scheduler moves the rate by a factor of …". It also decides whether the
//! size of an effect is uncertain. Called for the slices of each arm, and for the rates in a glimpse of a placement.

use crate::stats::moments::mean;

/// Fewer rates than this cannot show modes.
const LEAST_RATES: usize = 8;
/// A mode contains at least this share of the rates: a smaller part is a stall, not a mode.
const LEAST_SHARE: f64 = 0.1;
/// If the factor between two modes is smaller than this, the modes are not reported.
const LEAST_RATIO: f64 = 1.25;
/// Smallest distance between the modes, in standard deviations within the modes. The best cut of a normal distribution
/// gives 2.7, and the best cut of a uniform distribution 3.5, so 4 requires a gap.
const LEAST_SEPARATION: f64 = 4.0;

/// Two modes between which rates jump.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateModes {
    /// Geometric mean of the slower mode.
    pub low_per_s: f64,
    /// Geometric mean of the faster mode.
    pub high_per_s: f64,
    pub ratio: f64,
    /// Share of the rates in the faster mode, 0 to 1.
    pub high_share: f64,
}

/// Finds two modes in `rates_per_s`, if there are any.
///
/// The sorted logarithms are cut at the place where the sum of squares within the two parts is smallest. The parts are
/// modes under three conditions: each part contains at least a tenth of the rates, the parts are at least a factor of
/// 1.25 apart, and their distance is at least 4 times the standard deviation within them. Rates that are not positive
/// are left out: a slice without requests has no logarithm. Returns `None` for fewer than eight rates, or if there is
/// only one mode. This is a description without a level, and consecutive rates need not be independent.
///
/// Example: five rates are 100, and five rates are 210. The modes are 100 and 210, the ratio is 2.1, and the share is
/// 0.5.
pub fn rate_modes(rates_per_s: &[f64]) -> Option<RateModes> {
    let is_rate = |rate: &&f64| rate.is_finite() && **rate > 0.0;
    let mut logs: Vec<f64> = rates_per_s.iter().filter(is_rate).map(|rate| rate.ln()).collect();
    if logs.len() < LEAST_RATES {
        return None;
    }
    logs.sort_unstable_by(f64::total_cmp);
    let (cut, within) = best_cut(&logs);
    let (low, high) = logs.split_at(cut);
    let least_count = LEAST_SHARE * logs.len() as f64;
    let distance = mean(high) - mean(low);
    let sd_within = (within / logs.len() as f64).sqrt();
    let is_bimodal = low.len().min(high.len()) as f64 >= least_count
        && distance >= LEAST_RATIO.ln()
        && distance >= LEAST_SEPARATION * sd_within;
    is_bimodal.then(|| RateModes {
        low_per_s: mean(low).exp(),
        high_per_s: mean(high).exp(),
        ratio: distance.exp(),
        high_share: high.len() as f64 / logs.len() as f64,
    })
}

/// Finds the cut of sorted values that gives the smallest sum of squares within the two parts; returns the cut and
/// this sum.
fn best_cut(sorted: &[f64]) -> (usize, f64) {
    // The values are centred first; otherwise the differences of sums below would lose digits.
    let centre = mean(sorted);
    let sum_of_squares: f64 = sorted.iter().map(|value| (value - centre).powi(2)).sum();
    let (mut best, mut low_sum) = ((1, f64::INFINITY), 0.0);
    for (before, value) in sorted[..sorted.len() - 1].iter().enumerate() {
        low_sum += value - centre;
        let (n_low, n_high) = ((before + 1) as f64, (sorted.len() - before - 1) as f64);
        let between = low_sum * low_sum * (1.0 / n_low + 1.0 / n_high);
        let within = (sum_of_squares - between).max(0.0);
        if within < best.1 {
            best = (before + 1, within);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    /// Makes `n` values that are spread evenly over ±`spread` (in logarithms) around `centre`.
    fn around(centre: f64, spread: f64, n: u32) -> Vec<f64> {
        let at = |idx| 2.0 * f64::from(idx) / f64::from(n - 1) - 1.0;
        (0..n).map(|idx| centre * (spread * at(idx)).exp()).collect()
    }

    #[test]
    fn two_modes_are_named() {
        let mut rates = around(47_000.0, 0.05, 30);
        rates.extend(around(105_000.0, 0.05, 10));
        let modes = rate_modes(&rates).unwrap();
        close(modes.low_per_s, 47_000.0, 1.0);
        close(modes.high_per_s, 105_000.0, 1.0);
        close(modes.ratio, 105.0 / 47.0, 1e-6);
        close(modes.high_share, 0.25, 1e-12);
        let exact = [[100.0; 5], [210.0; 5]].concat();
        close(rate_modes(&exact).unwrap().ratio, 2.1, 1e-9);
    }

    #[track_caller]
    fn check_one_mode(rates: &[f64]) {
        assert_eq!(rate_modes(rates), None);
    }

    #[test]
    fn one_mode_is_not_cut_in_two() {
        check_one_mode(&around(1000.0, 1.0, 40));
        check_one_mode(&around(1000.0, 0.01, 40));
        check_one_mode(&[1000.0; 40]);
        check_one_mode(&[100.0, 210.0, 100.0, 210.0]);
        check_one_mode(&[]);
    }

    #[test]
    fn a_rare_stall_is_not_a_mode() {
        let mut rates = around(1000.0, 0.02, 40);
        rates.push(100.0);
        rates.push(0.0);
        check_one_mode(&rates);
    }

    #[test]
    fn close_modes_are_not_worth_a_sentence() {
        let mut rates = around(1000.0, 0.001, 20);
        rates.extend(around(1100.0, 0.001, 20));
        check_one_mode(&rates);
    }
}
