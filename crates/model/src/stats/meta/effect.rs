//! One host's effect as input of the fleet's statistics: its value, its variance, and how precisely the variance is
//! known.
//!
//! This file makes all input of `meta`, and refuses values that are not finite numbers, and variances that are not
//! plausible.

use crate::stats::Estimate;
use crate::stats::distributions::t_critical;

/// Smallest number of degrees of freedom of a usable variance. A variance from six epochs has this number, and six is
/// the smallest number of epochs that gives an interval. The weights need the second moment of 1/variance, which exists
/// only above four degrees of freedom.
pub const LEAST_FREEDOM: f64 = 5.0;
/// Largest |value|. A ratio of costs is never e^1000, and the square of a value must be far from an overflow.
const LARGEST_VALUE: f64 = 1e3;
/// Variances outside this range are not the result of measurements: a standard error of 1e-9 is a ten-millionth of a
/// percent, and a standard error of 1000 contains no information. With variances in this range, sums over any fleet
/// stay finite.
const VARIANCES: std::ops::RangeInclusive<f64> = 1e-18..=1e6;

/// The reason why an effect cannot be pooled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// The value is not finite, or its absolute value is above 1000.
    Value,
    /// The variance is not finite, zero, or outside the range of measurements.
    Variance,
    /// There are fewer degrees of freedom than [`LEAST_FREEDOM`].
    Freedom,
}

/// A host's effect: θ = ln cost ratio, or any other figure that is roughly normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    value: f64,
    variance: f64,
    freedom: f64,
    /// The parts of the moments that are multiplied by b²; they depend only on the degrees of freedom.
    estimated: Moments,
}

impl Effect {
    /// Makes an effect from its value, the variance of its error (the squared standard error), and the degrees of
    /// freedom of this variance: epochs − 1, or +∞ if the variance is known.
    ///
    /// # Errors
    /// [`Unusable`] if the value, the variance or the degrees of freedom cannot be used. The error names the first of
    /// these three that cannot be used.
    pub fn new(value: f64, variance: f64, freedom: f64) -> Result<Self, Unusable> {
        if value.is_nan() || value.abs() > LARGEST_VALUE {
            return Err(Unusable::Value);
        }
        if !VARIANCES.contains(&variance) {
            return Err(Unusable::Variance);
        }
        if freedom.is_nan() || freedom < LEAST_FREEDOM {
            return Err(Unusable::Freedom);
        }
        Ok(Self { value, variance, freedom, estimated: Moments::of_estimated(freedom) })
    }

    /// Makes an effect from an interval of level 1 − `alpha` over `n` epochs: the standard error is half the
    /// interval's length divided by t(n−1).
    ///
    /// This is exact for t intervals, and a good approximation for signed-rank intervals.
    ///
    /// Example: 0.10 [0.05, 0.15] at n = 12 has the standard error 0.05/2.201 = 0.02272.
    ///
    /// # Errors
    /// The same as for [`Effect::new`]; an interval with an infinite end has no variance.
    pub fn from_interval(estimate: &Estimate, alpha: f64) -> Result<Self, Unusable> {
        let freedom = estimate.n as f64 - 1.0;
        let critical = t_critical(alpha, freedom).ok_or(Unusable::Freedom)?;
        let error = estimate.half_width() / critical;
        Self::new(estimate.value, error * error, freedom)
    }

    pub fn value(&self) -> f64 {
        self.value
    }

    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Returns the degrees of freedom of the variance; +∞ if the variance is known.
    pub fn freedom(&self) -> f64 {
        self.freedom
    }

    /// Returns the weight w = 1/(v + τ²).
    pub(super) fn weight(&self, tau_squared: f64) -> f64 {
        1.0 / (self.variance + tau_squared)
    }

    /// Returns b = v/(v + τ²): the share of the host's deviation from the mean that is the host's own error.
    pub(super) fn own_share(&self, tau_squared: f64) -> f64 {
        self.variance * self.weight(tau_squared)
    }

    /// Returns the corrections that are needed because the variance v is an estimate.
    ///
    /// If v is known, w·(θ−μ)² has mean 1 and variance 2, and w is the inverse variance. If v·ν/σ² ~ χ²(ν), the
    /// following factors apply. They are expanded to the second order in the error of v, with constants that make them
    /// exact at τ² = 0 (where w·(θ−μ)² is the square of a t):
    ///
    /// ```text
    /// mean      1 + 2/(ν−2)·b²
    /// variance  2 + (2ν²(ν−1)/((ν−2)²(ν−4)) − 2)·b²
    /// excess    1 + 4/(ν−4)·b²        E[w²]·(σ² + τ²) over E[w]
    /// ```
    ///
    /// For ν → ∞ or τ² ≫ v, all three factors approach the values for a known v. The formula for the excess is Meier's;
    /// it is meant for many hosts.
    ///
    /// Example: ν = 9 at τ² = 0 gives 1 + 2/7 = 1.2857, 2·81·8/(49·5) = 5.2898, and 1.8.
    ///
    /// # Source
    /// Meier, Variance of a weighted mean, Biometrics 9 (1953) 59-73; moments of t² and 1/χ².
    pub(super) fn moments(&self, tau_squared: f64) -> Moments {
        let share = self.own_share(tau_squared);
        let squared = share * share;
        Moments {
            mean: 1.0 + self.estimated.mean * squared,
            variance: 2.0 + self.estimated.variance * squared,
            excess: 1.0 + self.estimated.excess * squared,
        }
    }
}

/// The corrections that [`Effect::moments`] describes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moments {
    pub(super) mean: f64,
    pub(super) variance: f64,
    pub(super) excess: f64,
}

impl Moments {
    /// Returns the factors of b²; all factors are 0 at +∞ degrees of freedom.
    fn of_estimated(freedom: f64) -> Self {
        let scarcity = 1.0 / freedom;
        let of_t = 1.0 / (1.0 - 2.0 * scarcity);
        let variance_of_t = 2.0 * of_t * of_t * (1.0 - scarcity) / (1.0 - 4.0 * scarcity);
        Self {
            mean: 2.0 * scarcity * of_t,
            variance: variance_of_t - 2.0,
            excess: 4.0 * scarcity / (1.0 - 4.0 * scarcity),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    #[test]
    fn what_is_no_measurement_is_refused() {
        let refused = |value, variance, freedom| Effect::new(value, variance, freedom).unwrap_err();
        for value in [f64::NAN, f64::INFINITY, -1e300] {
            assert_eq!(refused(value, 0.1, 9.0), Unusable::Value);
        }
        for variance in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300] {
            assert_eq!(refused(0.1, variance, 9.0), Unusable::Variance);
        }
        for freedom in [0.0, 4.0, f64::NAN, -3.0] {
            assert_eq!(refused(0.1, 0.1, freedom), Unusable::Freedom);
        }
        assert!(Effect::new(0.1, 0.1, f64::INFINITY).is_ok());
    }

    #[test]
    fn the_error_comes_out_of_the_interval() {
        let estimate = Estimate { value: 0.1, lo: 0.05, hi: 0.15, n: 12 };
        let effect = Effect::from_interval(&estimate, 0.05).unwrap();
        close(effect.variance().sqrt(), 0.05 / 2.200_985, 1e-8);
        close(effect.freedom(), 11.0, 0.0);
        let open = Estimate::without_interval(0.1, 12);
        assert_eq!(Effect::from_interval(&open, 0.05), Err(Unusable::Variance));
        let single = Estimate::without_interval(0.1, 1);
        assert_eq!(Effect::from_interval(&single, 0.05), Err(Unusable::Freedom));
    }

    #[test]
    fn a_known_variance_has_the_moments_of_chi_squared() {
        let known = Effect::new(0.1, 0.01, f64::INFINITY).unwrap().moments(0.0);
        close(known.mean, 1.0, 0.0);
        close(known.variance, 2.0, 0.0);
        close(known.excess, 1.0, 0.0);
        let few = Effect::new(0.1, 0.01, 9.0).unwrap().moments(0.0);
        close(few.mean, 9.0 / 7.0, 1e-12);
        close(few.variance, 2.0 * 81.0 * 8.0 / (49.0 * 5.0), 1e-12);
        close(few.excess, 1.8, 1e-12);
    }
}
