//! Simulates a grid of fleets: how often the intervals of the pooled mean, of the prediction for a new host and of τ²
//! contain the true value.

use std::io::{self, Write};

use looptax_model::stats::meta::{Spread, pool};
use rand_xoshiro::rand_core::SeedableRng;

use crate::fleet_model::{Errors, Kind, Rng, Shape};

const MEAN: f64 = 0.15;
const TYPICAL_ERROR: f64 = 0.03;

/// For each interval, the number of runs in which it contains the true value.
#[derive(Default)]
struct Tally {
    mean: u64,
    fixed: u64,
    prediction: u64,
    tau: u64,
    each_host: f64,
    alarms: u64,
}

/// Prints a row for each fleet of the grid.
pub(crate) fn print(out: &mut impl Write, n_runs: u64) -> io::Result<()> {
    writeln!(out, "hosts  tau   own errors  epochs  tails   | mean   fixed  new    tau    host   Q says differ")?;
    for n_hosts in [5, 20, 100, 10_000] {
        for tau in [0.0, 0.015, 0.09] {
            for spread in [0.0, 0.7] {
                for freedom in [f64::INFINITY, 9.0] {
                    for shape in [Shape::Normal, Shape::HeavyTails] {
                        if tau == 0.0 && shape != Shape::Normal {
                            continue;
                        }
                        let errors = Errors { typical: TYPICAL_ERROR, spread, freedom };
                        let kind = Kind { mean: MEAN, tau, shape, errors };
                        row(out, n_hosts, &kind, n_runs)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn row(out: &mut impl Write, n_hosts: usize, kind: &Kind, n_runs: u64) -> io::Result<()> {
    let tally = tally(n_hosts, kind, n_runs);
    let share = |n: u64| 100.0 * n as f64 / n_runs as f64;
    let errors = if kind.errors.spread > 0.0 { "unequal" } else { "equal" };
    let tails = if kind.shape == Shape::Normal { "normal" } else { "heavy" };
    writeln!(
        out,
        "{n_hosts:6} {:5.3} {errors:11} {:6} {tails:7} | {:5.1}  {:5.1}  {:5.1}  {:5.1}  {:5.1}  {:5.1}",
        kind.tau,
        kind.errors.freedom + 1.0,
        share(tally.mean),
        share(tally.fixed),
        share(tally.prediction),
        share(tally.tau),
        100.0 * tally.each_host / n_runs as f64,
        share(tally.alarms),
    )
}

fn tally(n_hosts: usize, kind: &Kind, n_runs: u64) -> Tally {
    let mut tally = Tally::default();
    for seed in 1..=n_runs {
        add_run(&mut tally, n_hosts, kind, &mut Rng::seed_from_u64(seed));
    }
    tally
}

fn add_run(tally: &mut Tally, n_hosts: usize, kind: &Kind, rng: &mut Rng) {
    let truths: Vec<f64> = (0..n_hosts).map(|_| kind.truth(rng)).collect();
    let measured = truths.iter().map(|truth| kind.measured(*truth, rng));
    let effects: Vec<_> = measured.collect();
    let found = pool(&effects, Spread::PauleMandel, 0.05).expect("there are hosts");
    let prior = found.prior().expect("there are two hosts");
    tally.mean += u64::from(found.mean.covers(kind.mean));
    tally.fixed += u64::from(found.fixed.covers(kind.mean));
    tally.prediction += u64::from(found.prediction.covers(kind.truth(rng)));
    tally.tau += u64::from(found.tau_squared.covers(kind.tau * kind.tau));
    // A hundred hosts per fleet are enough to count the coverage.
    let hosts = truths.iter().zip(&effects).take(100);
    let held = hosts.filter(|(truth, effect)| {
        let estimate = prior.posterior(Some(effect)).estimate(0.05);
        estimate.lo - 1e-12 <= **truth && **truth <= estimate.hi + 1e-12
    });
    tally.each_host += held.count() as f64 / n_hosts.min(100) as f64;
    tally.alarms += u64::from(found.homogeneity.p.is_some_and(|p| p < 0.05));
}
