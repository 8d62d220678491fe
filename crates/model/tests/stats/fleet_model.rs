//! A made-up fleet with known truth: seeded effects, errors and loads for the simulations.
//!
//! Shared by the tests and by `examples/simulate_fleet`. Not a model of any fleet.

use looptax_model::stats::meta::Effect;
use rand_distr::{ChiSquared, Distribution, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) type Rng = Xoshiro256PlusPlus;

/// How true effects are distributed around their mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Normal,
    /// Student's t at five degrees of freedom: one host in a thousand is over four standard deviations away.
    HeavyTails,
    /// Two kinds that are not distinguished, each half of the hosts.
    TwoKinds,
}

/// How the errors of hosts are.
#[derive(Clone, Copy)]
pub(crate) struct Errors {
    /// The standard error of a typical host.
    pub(crate) typical: f64,
    /// Standard deviation of its logarithm over hosts; 0 where all are the same.
    pub(crate) spread: f64,
    /// Epochs − 1 that the variance is estimated from; +∞ where it is known.
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
    /// The true effect of one host.
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

    /// The measurement at a host of that true effect.
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

    /// `n` hosts, measured.
    pub(crate) fn effects(&self, n: usize, rng: &mut Rng) -> Vec<Effect> {
        let mut one = || {
            let truth = self.truth(rng);
            self.measured(truth, rng)
        };
        (0..n).map(|_| one()).collect()
    }
}
