//! A made-up closed loop whose true effect is known: seeded counts for the simulations.
//!
//! The slices have 50 ms and 10,000 requests per second. The speed drifts slowly, varies from slice to slice, and is
//! reduced by bursts of steal. Used by the tests and by `examples/simulate.rs`. It is not a model of a real server.

use looptax_model::stats::{Epoch, Side, Slice};

const SLICE_NS: u64 = 50_000_000;
const REQUESTS_PER_SLICE: f64 = 500.0;

/// The random generator xorshift64*: it is small, and gives the same numbers on every machine.
pub(crate) struct Rng(u64);

impl Rng {
    /// Makes a generator for `seed`. The seed zero is replaced by 1, because the generator would only return zeros.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).max(1))
    }

    fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a random number, uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// The noise of a simulated machine, and the true effect.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    /// True θ = ln(baseline / other).
    pub(crate) theta: f64,
    /// Standard deviation of the slow drift from slice to slice, in ln rate.
    pub(crate) drift_sd: f64,
    /// Standard deviation of the variation of single slices, in ln rate.
    pub(crate) jitter_sd: f64,
    /// Probability that a burst takes half of a slice.
    pub(crate) burst_chance: f64,
    /// Standard deviation of θ between epochs.
    pub(crate) between_sd: f64,
}

impl Model {
    /// Returns `n_epochs` epochs; their slices are in Thue-Morse order, and a coin decides which arm begins.
    pub(crate) fn epochs(&self, n_epochs: usize, rng: &mut Rng) -> Vec<Epoch> {
        let mut level = 0.0;
        (0..n_epochs).map(|_| self.epoch(&mut level, rng)).collect()
    }

    fn epoch(&self, level: &mut f64, rng: &mut Rng) -> Epoch {
        let flip = usize::from(rng.uniform() < 0.5);
        let theta = self.theta + self.between_sd * rng.normal();
        let order = [1, 0, 0, 1, 0, 1, 1, 0].map(|idx: usize| Side::BOTH[idx ^ flip]);
        Epoch {
            slices: order.map(|side| self.slice(side, theta, level, rng)).to_vec(),
            latencies_ns: [vec![], vec![]],
            noise: None,
        }
    }

    fn slice(&self, side: Side, theta: f64, level: &mut f64, rng: &mut Rng) -> Slice {
        *level = 0.99 * *level + self.drift_sd * rng.normal();
        let effect = if side == Side::Other { -theta } else { 0.0 };
        let mut requests = REQUESTS_PER_SLICE * (*level + effect + self.jitter_sd * rng.normal()).exp();
        if rng.uniform() < self.burst_chance {
            requests *= 0.5;
        }
        let counted = (requests + requests.sqrt() * rng.normal()).round().max(0.0) as u64;
        Slice {
            side,
            completions: counted,
            early: 0,
            active_ns: SLICE_NS,
            drained: 0,
            drain_ns: 0,
            requests: counted,
            client_cpu_ns: None,
            server_cpu_ns: None,
            client_switches: 0,
            is_in_place: true,
            response: None,
        }
    }
}

pub(crate) const CLOUD: Model =
    Model { theta: 0.0, drift_sd: 0.006, jitter_sd: 0.02, burst_chance: 0.03, between_sd: 0.0 };
