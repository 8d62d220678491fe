//! The sums over hosts at a given τ², computed in one pass: enough for the mean, Q, and their errors.
//!
//! The sums of parts of a fleet can be merged, so each shard of a database may hold its own sums. Filled by `tau`,
//! `pool` and `groups`.

use super::effect::Effect;

/// Sums over hosts with weights w = 1/(v + τ²), for one τ².
///
/// Updated by West's method, so that no digits are lost if the mean is far from zero. All sums in one value use the
/// same τ².
///
/// # Cost
/// Ten numbers, for any number of hosts.
///
/// # Source
/// West, Updating mean and variance estimates, CACM 22 (1979) 532-535; merging: Chan, Golub and others
/// (1979).
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    n: usize,
    weight: f64,
    weight_squared: f64,
    mean: f64,
    squares: f64,
    /// Σ of the expected values of w·(θ−μ)², and Σ of the same terms times w.
    expected: [f64; 2],
    spread: [f64; 2],
    excess: f64,
}

impl Sums {
    /// Computes the sums over `effects` at `tau_squared`.
    pub fn over(effects: &[Effect], tau_squared: f64) -> Self {
        let mut sums = Self::default();
        for effect in effects {
            sums.add(effect, tau_squared);
        }
        sums
    }

    /// Adds one host. `tau_squared` must be the same as for the hosts that were added before.
    pub fn add(&mut self, effect: &Effect, tau_squared: f64) {
        let (weight, moments) = (effect.weight(tau_squared), effect.moments(tau_squared));
        self.merge(&Self {
            n: 1,
            weight,
            weight_squared: weight * weight,
            mean: effect.value(),
            squares: 0.0,
            expected: [moments.mean, moments.mean * weight],
            spread: [moments.variance, moments.variance * weight],
            excess: weight * moments.excess,
        });
    }

    /// Adds the sums over other hosts at the same τ².
    pub fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        let weight = self.weight + other.weight;
        let apart = other.mean - self.mean;
        let share = other.weight / weight;
        self.mean += apart * share;
        self.squares += other.squares + self.weight * share * apart * apart;
        self.weight = weight;
        self.weight_squared += other.weight_squared;
        for idx in [0, 1] {
            self.expected[idx] += other.expected[idx];
            self.spread[idx] += other.spread[idx];
        }
        self.excess += other.excess;
        self.n += other.n;
    }

    pub fn n_hosts(&self) -> usize {
        self.n
    }

    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Returns the weighted mean Σwθ/Σw; `None` if there are no hosts.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// Returns Q = Σ w·(θ − mean)²; at τ² = 0 this is Cochran's Q.
    pub fn q(&self) -> f64 {
        self.squares
    }

    /// Returns the mean of Q if the given τ² is the true τ²: Σ mᵢ·(1 − wᵢ/Σw), which is k − 1 for known variances.
    pub(super) fn expected_q(&self) -> f64 {
        self.without_the_mean(self.expected, 1.0)
    }

    /// Returns the variance of Q if the given τ² is the true τ²; it is 2(k − 1) for known variances.
    pub(super) fn variance_of_q(&self) -> f64 {
        self.without_the_mean(self.spread, 2.0)
    }

    /// Returns the variance of the τ² that solves Q = E Q; these sums must be the sums at this τ². The variance is
    /// var(Q)/(Σw)², which is 2(k − 1)/(Σw)² for known variances. Q decreases by Σw per unit of τ².
    pub(super) fn variance_of_tau_squared(&self) -> f64 {
        self.variance_of_q() / (self.weight * self.weight)
    }

    /// Subtracts the part that is lost because the mean is fitted. For one host the result is exactly zero, without a
    /// rounding error.
    fn without_the_mean(&self, [plain, weighted]: [f64; 2], least: f64) -> f64 {
        match self.n {
            0 | 1 => 0.0,
            n => (plain - weighted / self.weight).max(least * (n - 1) as f64),
        }
    }

    /// Returns the variance of the weighted mean: Σ w·excess/(Σw)², which is 1/Σw for known variances.
    pub(super) fn variance_of_mean(&self) -> f64 {
        self.excess / (self.weight * self.weight)
    }

    /// Returns the variance of a typical host, (k − 1)·Σw/((Σw)² − Σw²), from sums at τ² = 0.
    ///
    /// # Source
    /// Higgins and Thompson, Quantifying heterogeneity in a meta-analysis, Statistics in Medicine 21 (2002)
    /// 1539-1558, equation 9.
    pub(super) fn typical_variance(&self) -> f64 {
        let pairs = self.weight * self.weight - self.weight_squared;
        (self.n as f64 - 1.0) * self.weight / pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    fn effects() -> Vec<Effect> {
        let rows = [(0.1, 0.01, 9.0), (0.3, 0.04, 11.0), (-0.2, 0.02, f64::INFINITY)];
        rows.map(|(value, variance, freedom)| Effect::new(value, variance, freedom).unwrap()).to_vec()
    }

    // Computed by hand: weights 100, 25, 50; mean (10 + 7.5 − 10)/175 = 0.042857; Q = 100·0.0571² + 25·0.2571² +
    // 50·0.2429² = 0.32653 + 1.65306 + 2.94898.
    #[test]
    fn the_example_comes_out() {
        let sums = Sums::over(&effects(), 0.0);
        close(sums.mean().unwrap(), 7.5 / 175.0, 1e-15);
        close(sums.q(), 4.928_571_428_571_429, 1e-12);
        close(sums.typical_variance(), 2.0 * 175.0 / (30_625.0 - 13_125.0), 1e-15);
        let mean = [9.0 / 7.0, 11.0 / 9.0, 1.0];
        let shares = [100.0 / 175.0, 25.0 / 175.0, 50.0 / 175.0];
        let expected: f64 = mean.iter().zip(shares).map(|(m, h)| m * (1.0 - h)).sum();
        close(sums.expected_q(), expected, 1e-12);
        let excess = (100.0 * 1.8 + 25.0 * (1.0 + 4.0 / 7.0) + 50.0) / (175.0 * 175.0);
        close(sums.variance_of_mean(), excess, 1e-15);
    }

    #[test]
    fn parts_merge_to_the_whole() {
        let effects = effects();
        for cut in 0..=effects.len() {
            let mut first = Sums::over(&effects[..cut], 0.02);
            first.merge(&Sums::over(&effects[cut..], 0.02));
            let whole = Sums::over(&effects, 0.02);
            assert_eq!(first.n_hosts(), 3);
            close(first.mean().unwrap(), whole.mean().unwrap(), 1e-14);
            close(first.q(), whole.q(), 1e-13);
            close(first.variance_of_q(), whole.variance_of_q(), 1e-12);
            close(first.weight(), whole.weight(), 1e-12);
        }
    }

    #[test]
    fn nobody_has_no_mean_and_one_host_no_q() {
        assert_eq!(Sums::default().mean(), None);
        let one = Sums::over(&effects()[..1], 0.0);
        close(one.q(), 0.0, 0.0);
        close(one.expected_q(), 0.0, 0.0);
    }
}
