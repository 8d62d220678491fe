//! Simulates fleets of which only a part was measured: how often the interval of the sum of CPU time lost contains the
//! true sum.

use std::io::{self, Write};

use looptax_model::stats::meta::{Effect, Host, Prior, Spread, Total, groups, total};
use rand_xoshiro::rand_core::SeedableRng;

use crate::fleet_model::{Errors, Kind, Rng, Shape, normal};
use crate::runs;

const N_HOSTS: usize = 100_000;
/// Standard deviation of the logarithm of rates.
const LOAD_SPREAD: f64 = 1.5;
/// Shares of the kinds of host in the fleet; a kind is, for example, a kernel with a CPU.
const KINDS: [f64; 6] = [0.5, 0.25, 0.15, 0.07, 0.029, 0.001];

/// How the measured hosts are chosen.
#[derive(Clone, Copy, PartialEq)]
enum Choice {
    /// Random choice: this share of the hosts.
    ByLot(f64),
    /// Random choice: this share of the hosts, each with a probability proportional to its load.
    ByLoad(f64),
    Busiest,
}

#[derive(Clone, Copy)]
struct Fleet {
    name: &'static str,
    choice: Choice,
    shape: Shape,
    /// How much a host's effect, in µs, grows with the standardised logarithm of its rate.
    with_load: f64,
    /// Whether hosts of different load are treated as different kinds.
    by_load: bool,
    /// Factor on the requested number of runs: above 1 for the fleet whose coverage is promised, below 1 if a run
    /// takes seconds.
    n_runs: f64,
}

const PLAIN: Fleet = Fleet {
    name: "1 % measured by lot",
    choice: Choice::ByLot(0.01),
    shape: Shape::Normal,
    with_load: 0.0,
    by_load: false,
    n_runs: 1.0,
};

const FLEETS: [Fleet; 12] = [
    Fleet { n_runs: 3.0, ..PLAIN },
    Fleet { name: "0.1 % measured by lot", choice: Choice::ByLot(0.001), ..PLAIN },
    Fleet { name: "10 % measured by lot", choice: Choice::ByLot(0.1), ..PLAIN },
    Fleet { name: "all measured", choice: Choice::ByLot(1.0), n_runs: 0.2, ..PLAIN },
    Fleet { name: "1 % by lot, heavy tails", shape: Shape::HeavyTails, ..PLAIN },
    Fleet { name: "1 % by lot, two kinds in each", shape: Shape::TwoKinds, ..PLAIN },
    Fleet { name: "busiest 1 % measured", choice: Choice::Busiest, ..PLAIN },
    Fleet { name: "1 % by lot, tax grows with load", with_load: 0.8, ..PLAIN },
    Fleet { name: "1 % by lot, tax grows with load, a condition", with_load: 0.8, by_load: true, ..PLAIN },
    Fleet { name: "1 % by load, tax grows with load", choice: Choice::ByLoad(0.01), with_load: 0.8, ..PLAIN },
    Fleet {
        name: "1 % by load, tax grows with load, a condition",
        choice: Choice::ByLoad(0.01),
        with_load: 0.8,
        by_load: true,
        ..PLAIN
    },
    Fleet { name: "busiest 1 %, tax grows with load", choice: Choice::Busiest, with_load: 0.8, ..PLAIN },
];

/// Upper limits of the load classes, in standard deviations of the load's logarithm.
const CLASSES: [f64; 5] = [0.0, 1.0, 1.75, 2.5, f64::INFINITY];

struct Drawn {
    kind_idx: usize,
    class_idx: usize,
    requests_per_s: f64,
    truth: f64,
    effect: Option<Effect>,
}

/// Prints a row for each choice of the measured hosts.
pub(crate) fn print(out: &mut impl Write, n_runs: u64) -> io::Result<()> {
    writeln!(
        out,
        "\nfleet of 100,000                               runs | covered  bias  half width  of measured  predicted  means (%)"
    )?;
    for fleet in FLEETS {
        let n_runs = (fleet.n_runs * n_runs as f64).ceil() as u64;
        let (mut n_covered, mut bias, mut width, mut parts) = (0_u64, 0.0, 0.0, [0.0; 3]);
        for (truth, found) in runs(n_runs, |seed| run(&fleet, &mut Rng::seed_from_u64(seed))) {
            n_covered += u64::from(found.cores.covers(truth));
            bias += found.cores.value / truth - 1.0;
            width += found.cores.half_width() / truth;
            let errors = [found.error_of_measured, found.error_of_predicted, found.error_of_means];
            for (sum, error) in parts.iter_mut().zip(errors) {
                *sum += error / truth;
            }
        }
        let pct = |sum: f64| 100.0 * sum / n_runs as f64;
        writeln!(
            out,
            "{:45} {n_runs:5} | {:7.1}  {:5.1}  {:10.2}  {:11.2}  {:9.2}  {:5.2}",
            fleet.name,
            pct(n_covered as f64),
            pct(bias),
            pct(width),
            pct(parts[0]),
            pct(parts[1]),
            pct(parts[2]),
        )?;
    }
    Ok(())
}

/// Simulates a fleet; returns the number of cores that it truly loses, and the estimate of this number.
fn run(fleet: &Fleet, rng: &mut Rng) -> (f64, Total) {
    let kinds: Vec<Kind> = KINDS.iter().map(|_| kind(fleet.shape, rng)).collect();
    let hosts: Vec<Drawn> = (0..N_HOSTS).map(|_| draw(fleet, &kinds, rng)).collect();
    let truth = hosts.iter().map(|it| it.requests_per_s * it.truth / 1e6);
    let n_classes = if fleet.by_load { CLASSES.len() } else { 1 };
    let prior_idx = |host: &Drawn| host.kind_idx * n_classes + host.class_idx.min(n_classes - 1);
    let mut measured = vec![Vec::new(); KINDS.len() * n_classes];
    for host in &hosts {
        measured[prior_idx(host)].extend(host.effect);
    }
    let slices: Vec<&[Effect]> = measured.iter().map(Vec::as_slice).collect();
    let found = groups(&slices, Spread::PauleMandel, 0.05).expect("some host was measured");
    let priors: Vec<Prior> = (0..slices.len()).map(|idx| found.prior(idx).expect("a fleet has a prior")).collect();
    let all = hosts.iter().map(|host| Host {
        requests_per_s: host.requests_per_s,
        prior_idx: prior_idx(host),
        effect: host.effect,
    });
    let found = total(&priors, all, 0.05).expect("the sum is a number");
    (truth.sum(), found)
}

fn kind(shape: Shape, rng: &mut Rng) -> Kind {
    Kind {
        mean: 3.0 + normal(rng),
        tau: 1.2 * (0.3 * normal(rng)).exp(),
        shape,
        errors: Errors { typical: 0.6, spread: 0.5, freedom: 9.0 },
    }
}

fn draw(fleet: &Fleet, kinds: &[Kind], rng: &mut Rng) -> Drawn {
    let mut place = uniform(rng);
    let ends = KINDS.iter().position(|share| {
        place -= share;
        place < 0.0
    });
    let kind_idx = ends.unwrap_or(0);
    let standardised = normal(rng);
    let kind = &kinds[kind_idx];
    let truth = kind.truth(rng) + fleet.with_load * standardised;
    let is_measured = match fleet.choice {
        Choice::ByLot(share) => uniform(rng) < share,
        // The rates are lognormal, so their mean is exp(LOAD_SPREAD² / 2) times their median.
        Choice::ByLoad(share) => {
            let relative = (LOAD_SPREAD * (standardised - LOAD_SPREAD / 2.0)).exp();
            uniform(rng) < share * relative
        }
        // 1 % of the hosts are more than 2.326 standard deviations above the mean.
        Choice::Busiest => standardised > 2.326,
    };
    Drawn {
        kind_idx,
        class_idx: CLASSES.iter().filter(|end| standardised > **end).count(),
        requests_per_s: 1e3 * (LOAD_SPREAD * standardised).exp(),
        truth,
        effect: is_measured.then(|| kind.measured(truth, rng)),
    }
}

fn uniform(rng: &mut Rng) -> f64 {
    use rand_distr::Distribution;
    rand_distr::Uniform::new(0.0, 1.0).expect("it is a range").sample(rng)
}
