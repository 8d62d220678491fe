//! Simulates rankings: how many of the twenty hosts with the largest loss are among the twenty hosts that the ranking
//! puts first.

use std::io::{self, Write};

use looptax_model::stats::meta::{Candidate, Effect, Posterior, Spread, pool, top_probabilities};
use rand_xoshiro::rand_core::SeedableRng;

use crate::fleet_model::{Errors, Kind, Rng, Shape, normal};
use crate::runs;

const N_HOSTS: usize = 100_000;
const N_TOP: usize = 20;

/// How many of the true top twenty a ranking found: the sum over all runs, and the number of runs in which it found at
/// least 17.
#[derive(Default)]
struct Hits {
    sum: usize,
    n_enough: u64,
}

/// Prints a row for each quality of measurement, computed from a twentieth of the runs, since each run simulates a
/// whole fleet.
pub(crate) fn print(out: &mut impl Write, n_runs: u64) -> io::Result<()> {
    let n_runs = (n_runs / 20).max(1);
    writeln!(
        out,
        "\nof the true twenty are named, and 17 or more in how many runs (%), by\n\
         error  measured  tails   rates |  measured    shrunken    chance to be there"
    )?;
    let qualities = [(0.1, 1.0), (0.2, 1.0), (0.6, 1.0), (1.2, 1.0), (0.2, 0.1), (0.2, 0.0)];
    for (error, share) in qualities {
        for load_spread in [1.0, 1.5, 2.0] {
            row(out, &kind(error, Shape::Normal), share, load_spread, n_runs)?;
        }
        row(out, &kind(error, Shape::HeavyTails), share, 1.5, n_runs)?;
    }
    Ok(())
}

fn row(out: &mut impl Write, kind: &Kind, share: f64, load_spread: f64, n_runs: u64) -> io::Result<()> {
    let mut hits: [Hits; 3] = Default::default();
    let one = |seed| run(kind, share, load_spread, &mut Rng::seed_from_u64(seed));
    for found in runs(n_runs, one) {
        for (hits, n) in hits.iter_mut().zip(found) {
            hits.sum += n;
            hits.n_enough += u64::from(n >= 17);
        }
    }
    let tails = if kind.shape == Shape::Normal { "normal" } else { "heavy" };
    write!(out, "{:5.1}  {share:8.2}  {tails:6}  {load_spread:5.1} |", kind.errors.typical)?;
    for hit in &hits {
        let mean = hit.sum as f64 / n_runs as f64;
        let enough = 100.0 * hit.n_enough as f64 / n_runs as f64;
        write!(out, "  {mean:4.1} ({enough:3.0})")?;
    }
    writeln!(out)
}

fn kind(typical: f64, shape: Shape) -> Kind {
    Kind { mean: 3.0, tau: 1.2, shape, errors: Errors { typical, spread: 0.5, freedom: 9.0 } }
}

/// Returns how many of the true top twenty each ranking finds in one fleet. The busiest hosts, `share` of all, are
/// measured; the other hosts get the effect that is predicted for their kind.
fn run(kind: &Kind, share: f64, load_spread: f64, rng: &mut Rng) -> [usize; 3] {
    let loads: Vec<f64> = (0..N_HOSTS).map(|_| (load_spread * normal(rng)).exp()).collect();
    let truths: Vec<f64> = loads.iter().map(|_| kind.truth(rng)).collect();
    let mut sorted = loads.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let n_measured = (share * N_HOSTS as f64) as usize;
    let least = sorted.get(N_HOSTS - n_measured).copied().unwrap_or(f64::INFINITY);
    let mut measure = |(load, truth): (&f64, &f64)| (*load >= least).then(|| kind.measured(*truth, rng));
    let effects: Vec<Option<Effect>> = loads.iter().zip(&truths).map(&mut measure).collect();
    let known: Vec<Effect> = effects.iter().flatten().copied().collect();
    // If no host was measured, a hundred other hosts provide the distribution of this kind.
    let known = if known.is_empty() { kind.effects(100, rng) } else { known };
    let found = pool(&known, Spread::PauleMandel, 0.05).expect("there are hosts");
    let prior = found.prior().expect("there are two hosts");
    let posteriors: Vec<Posterior> = effects.iter().map(|effect| prior.posterior(effect.as_ref())).collect();
    let lost = |rate: f64, us: f64| rate * us;
    let truth: Vec<f64> = loads.iter().zip(&truths).map(|(l, t)| lost(*l, *t)).collect();
    let measured = loads.iter().zip(&effects).zip(&posteriors);
    let measured =
        measured.map(|((load, effect), posterior)| lost(*load, effect.map_or(posterior.value, |it| it.value())));
    let shrunken = loads.iter().zip(&posteriors);
    let expected = shrunken.clone().map(|(load, it)| lost(*load, it.value));
    let candidates =
        shrunken.map(|(load, it)| Candidate { requests_per_s: *load, value: it.value, variance: it.variance() });
    let chances = top_probabilities(&candidates.collect::<Vec<_>>(), N_TOP);
    [measured.collect(), expected.collect(), chances].map(|said| n_hits(&said, &truth))
}

/// Returns how many of the true top twenty are among the twenty largest values of `said`.
fn n_hits(said: &[f64], truth: &[f64]) -> usize {
    let (said, truth) = (top(said), top(truth));
    said.iter().filter(|it| truth.contains(it)).count()
}

/// Returns the indices of the twenty largest values.
fn top(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.select_nth_unstable_by(N_TOP, |a, b| values[*b].total_cmp(&values[*a]));
    order.truncate(N_TOP);
    order
}
