//! A made-up fleet whose true effects are known: seeded effects, errors and loads for the simulations.
//!
//! Used by the tests and by `examples/simulate_fleet`. It is not a model of a real fleet.

use looptax_model::stats::meta::Effect;
use rand_distr::{ChiSquared, Distribution, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) type Rng = Xoshiro256PlusPlus;

/// The distribution of true effects around their mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Normal,
    /// Student's t with five degrees of freedom: one of a thousand hosts is more than four standard deviations away
    /// from the mean.
    HeavyTails,
    /// Half of the hosts are of one kind and half of another, and the two kinds are not distinguished.
    TwoKinds,
}

/// The distribution of the hosts' measurement errors.
#[derive(Clone, Copy)]
pub(crate) struct Errors {
    /// The standard error of a typical host.
    pub(crate) typical: f64,
    /// Standard deviation, over hosts, of the logarithm of the standard error; 0 if all hosts have the same standard
    /// error.
    pub(crate) spread: f64,
    /// Number of epochs from which the variance is estimated, minus 1; +∞ if the variance is known.
    pub(crate) freedom: f64,
}

#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) mean: f64,
    pub(crate) tau: f64,
    pub(crate) shape: Shape,
    pub(crate) errors: Errors,
}

pub(crate) fn normal(rng: &mut Rng) -> f64 {
    StandardNormal.sample(rng)
}

impl Kind {
    /// Draws the true effect of one host.
    pub(crate) fn truth(&self, rng: &mut Rng) -> f64 {
        let unit = match self.shape {
            Shape::Normal => normal(rng),
            Shape::HeavyTails => {
                let heavy: f64 = StudentT::new(5.0).expect("a distribution").sample(rng);
                heavy * 0.6_f64.sqrt()
            }
            Shape::TwoKinds => {
                let side = if normal(rng) > 0.0 { 0.9 } else { -0.9 };
                side + 0.19_f64.sqrt() * normal(rng)
            }
        };
        self.mean + self.tau * unit
    }

    /// Draws the measurement of a host with this true effect.
    pub(crate) fn measured(&self, truth: f64, rng: &mut Rng) -> Effect {
        let Errors { typical, spread, freedom } = self.errors;
        let error = typical * (spread * normal(rng)).exp();
        let value = truth + error * normal(rng);
        let scale = if freedom.is_finite() {
            ChiSquared::new(freedom).expect("a distribution").sample(rng) / freedom
        } else {
            1.0
        };
        Effect::new(value, error * error * scale, freedom).expect("an effect")
    }

    /// Draws `n` hosts and their measurements.
    pub(crate) fn effects(&self, n: usize, rng: &mut Rng) -> Vec<Effect> {
        let mut one = || {
            let truth = self.truth(rng);
            self.measured(truth, rng)
        };
        (0..n).map(|_| one()).collect()
    }
}
