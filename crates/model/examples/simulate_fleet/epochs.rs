//! Checks the same intervals with effects as real verdicts have them: each host's effect is Hodges and Lehmann's
//! estimate over its epochs, and the effect's variance is computed from the interval of the signed-rank test.

use std::io::{self, Write};

use looptax_model::stats::hodges_lehmann;
use looptax_model::stats::meta::{Effect, Pooled, Spread, pool};
use rand_xoshiro::rand_core::SeedableRng;

use crate::fleet_model::{Rng, normal};
use crate::runs;

const MEAN: f64 = 0.15;
/// Standard deviation of an epoch's effect.
const EPOCH_SD: f64 = 0.09;

/// Prints a row for each fleet, computed from three tenths of the runs.
pub(crate) fn print(out: &mut impl Write, n_runs: u64) -> io::Result<()> {
    let n_runs = (3 * n_runs).div_ceil(10);
    writeln!(out, "\nepochs  hosts  tau   | mean   new    Q says differ   Q over its mean")?;
    let fleets = [(10, 100, 0.0), (10, 100, 0.06), (10, 1000, 0.0), (10, 1000, 0.02), (20, 1000, 0.02)];
    for (n_epochs, n_hosts, tau) in fleets {
        let (mut n_means, mut n_new, mut n_alarms, mut ratio) = (0_u64, 0_u64, 0_u64, 0.0);
        let one = |seed| run(n_epochs, n_hosts, tau, &mut Rng::seed_from_u64(seed));
        for (found, next) in runs(n_runs, one) {
            n_means += u64::from(found.mean.covers(MEAN));
            n_new += u64::from(found.prediction.covers(next));
            n_alarms += u64::from(found.homogeneity.p.is_some_and(|p| p < 0.05));
            ratio += found.homogeneity.q / found.homogeneity.expected;
        }
        let pct = |n: u64| 100.0 * n as f64 / n_runs as f64;
        writeln!(
            out,
            "{n_epochs:6} {n_hosts:6}  {tau:4.2}  | {:5.1}  {:5.1}  {:5.1}           {:5.2}",
            pct(n_means),
            pct(n_new),
            pct(n_alarms),
            ratio / n_runs as f64,
        )?;
    }
    Ok(())
}

/// Simulates a fleet; returns its pooled result, and the true effect of one more host.
fn run(n_epochs: usize, n_hosts: usize, tau: f64, rng: &mut Rng) -> (Pooled, f64) {
    let effects: Vec<Effect> = (0..n_hosts).map(|_| host(n_epochs, tau, rng)).collect();
    let found = pool(&effects, Spread::PauleMandel, 0.05).expect("there are hosts");
    (found, MEAN + tau * normal(rng))
}

fn host(n_epochs: usize, tau: f64, rng: &mut Rng) -> Effect {
    let truth = MEAN + tau * normal(rng);
    let epochs: Vec<f64> = (0..n_epochs).map(|_| truth + EPOCH_SD * normal(rng)).collect();
    let estimate = hodges_lehmann::estimate(&epochs, 0.05).expect("there are epochs");
    Effect::from_interval(&estimate, 0.05).expect("the interval has ends")
}
