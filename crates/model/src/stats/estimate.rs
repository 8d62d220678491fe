//! A number with its interval; the statistics return measured figures only in this form.
//!
//! The only formula in this file converts a log ratio to a tax. The estimators in `stats` make the estimates; the
//! record and the report read the estimates.

/// A point estimate with its interval.
///
/// If the data do not allow an interval yet, `lo` is −∞ and `hi` is +∞.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The point estimate, in the unit of the metric.
    pub value: f64,
    /// The lower end of the interval, in the same unit.
    pub lo: f64,
    /// The upper end of the interval, in the same unit.
    pub hi: f64,
    /// Number of independent units (epochs, blocks) from which the estimate was computed.
    pub n: usize,
}

impl Estimate {
    /// Makes an estimate without an interval, for example if there are too few units for an interval.
    pub fn without_interval(value: f64, n: usize) -> Self {
        Self { value, lo: f64::NEG_INFINITY, hi: f64::INFINITY, n }
    }

    /// Returns the estimate of `f`(quantity), for a monotone `f`.
    ///
    /// The ends are exchanged if `f` decreases, so that `lo <= hi` remains true. If the estimate has no interval, `f`
    /// is also called with −∞ and +∞, and must then return its limit values.
    ///
    /// Example: the interval [ln 2, ln 4] under x ↦ e^−x is [0.25, 0.5].
    #[must_use]
    pub fn map_monotone(self, f: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (f(self.lo), f(self.hi));
        Self { value: f(self.value), lo: a.min(b), hi: a.max(b), n: self.n }
    }

    /// Returns half the length of the interval; +∞ if there is no interval.
    pub fn half_width(&self) -> f64 {
        (self.hi - self.lo) / 2.0
    }

    /// Returns whether both ends are finite.
    pub fn has_interval(&self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    /// Returns whether the interval, including its ends, contains `truth`.
    pub fn covers(&self, truth: f64) -> bool {
        self.lo <= truth && truth <= self.hi
    }

    /// Returns whether the whole interval is in `[lo, hi]`, including these ends.
    pub fn lies_within(&self, lo: f64, hi: f64) -> bool {
        lo <= self.lo && self.hi <= hi
    }
}

/// Converts θ = ln(baseline / other) to the throughput tax, in percent of the baseline's throughput.
///
/// The tax is 100·(1 − e^−θ); it is positive if the other arm serves less. θ = ln 2 is a tax of 50 %, and θ = −ln 2 a
/// tax of −100 % (twice as fast); θ = +∞ gives 100 %, and θ = −∞ gives −∞.
///
/// # Units
/// `theta` is a natural logarithm, the result percent.
pub fn tax_pct(theta: f64) -> f64 {
    -100.0 * (-theta).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    #[test]
    fn a_decreasing_map_exchanges_the_ends() {
        let estimate = Estimate { value: 3_f64.ln(), lo: 2_f64.ln(), hi: 4_f64.ln(), n: 9 };
        let mapped = estimate.map_monotone(|x| (-x).exp());
        close(mapped.lo, 0.25, 1e-12);
        close(mapped.value, 1.0 / 3.0, 1e-12);
        close(mapped.hi, 0.5, 1e-12);
        assert_eq!(mapped.n, 9);
    }

    #[test]
    fn the_tax_of_no_interval_keeps_its_limits() {
        let tax = Estimate::without_interval(0.0, 1).map_monotone(tax_pct);
        assert!(!tax.has_interval());
        assert_eq!((tax.lo, tax.hi), (f64::NEG_INFINITY, 100.0));
        assert!(tax.half_width().is_infinite());
    }

    #[test]
    fn tax_is_what_is_lost_of_the_baseline() {
        close(tax_pct(2_f64.ln()), 50.0, 1e-12);
        close(tax_pct(-2_f64.ln()), -100.0, 1e-12);
        close(tax_pct(0.01), 0.995_016_625, 1e-8);
    }

    #[test]
    fn the_ends_belong_to_the_interval() {
        let estimate = Estimate { value: 0.0, lo: -1.0, hi: 1.0, n: 6 };
        assert!(estimate.covers(1.0) && estimate.covers(-1.0) && !estimate.covers(1.1));
        assert!(estimate.lies_within(-1.0, 1.0) && !estimate.lies_within(-0.9, 1.0));
    }
}
