//! Checks that a fleet's intervals keep their level, and that its ranking finds the hosts that lose most.
//!
//! The seeds are fixed, so a failure means that the code has changed. The limits are those of the binomial
//! distribution for one failure in a thousand; `examples/simulate_fleet` is the long version.

use looptax_model::stats::meta::{Effect, Host, Prior, Spread, benjamini_hochberg, groups, pool, total};
use looptax_model::stats::{per_request, tested_difference};
use rand_xoshiro::rand_core::SeedableRng;

use crate::fleet_model::{Errors, Kind, Rng, Shape, normal};

/// Hosts that differ, each measured for ten epochs.
const KIND: Kind =
    Kind { mean: 0.15, tau: 0.06, shape: Shape::Normal, errors: Errors { typical: 0.03, spread: 0.5, freedom: 9.0 } };

/// Hosts with the same true effect.
const SAME: Kind = Kind { tau: 0.0, ..KIND };

#[track_caller]
fn check_share(n: usize, n_runs: usize, range: std::ops::RangeInclusive<f64>) {
    let share = n as f64 / n_runs as f64;
    assert!(range.contains(&share), "{n} of {n_runs}");
}

#[test]
fn the_mean_and_the_next_host_lie_where_they_are_said_to() {
    for shape in [Shape::Normal, Shape::HeavyTails, Shape::TwoKinds] {
        let (mut n_means, mut n_predictions) = (0, 0);
        for seed in 1..=200 {
            let mut rng = Rng::seed_from_u64(seed);
            let kind = Kind { shape, ..KIND };
            let effects = kind.effects(60, &mut rng);
            let found = pool(&effects, Spread::PauleMandel, 0.05).unwrap();
            n_means += usize::from(found.mean.covers(kind.mean));
            n_predictions += usize::from(found.prediction.covers(kind.truth(&mut rng)));
        }
        check_share(n_means, 200, 0.895..=0.99);
        check_share(n_predictions, 200, 0.895..=1.0);
    }
}

// If Q were computed as for known variances, all these fleets would be reported as different: at ten epochs Q is a
// quarter too large.
#[test]
fn many_hosts_that_do_not_differ_are_not_said_to() {
    let mut n_alarms = 0;
    for seed in 1..=60 {
        let effects = SAME.effects(1000, &mut Rng::seed_from_u64(seed));
        let found = pool(&effects, Spread::PauleMandel, 0.05).unwrap();
        n_alarms += usize::from(found.homogeneity.p.unwrap() < 0.05);
        assert!(found.homogeneity.q > 1.1 * 999.0, "{found:?}");
    }
    check_share(n_alarms, 60, 0.0..=0.15);
}

#[test]
fn the_sum_holds_what_was_not_measured_too() {
    let n_covered = (1..=100).filter(|seed| sum_covers(*seed)).count();
    check_share(n_covered, 100, 0.87..=1.0);
}

/// Returns whether the interval of the sum over 2,000 hosts of three kinds contains the true sum, if a tenth of the
/// hosts was measured.
fn sum_covers(seed: u64) -> bool {
    let rng = &mut Rng::seed_from_u64(seed);
    let kinds = [0.1, 0.15, 0.25].map(|mean| Kind { mean, ..KIND });
    let (mut truth, mut hosts, mut measured) = (0.0, Vec::new(), vec![Vec::new(); 3]);
    for idx in 0..2000 {
        let (kind, requests_per_s) = (kinds[idx % 3], normal(rng).exp());
        let true_effect = kind.truth(rng);
        truth += requests_per_s * true_effect / 1e6;
        let effect = (idx % 10 == 0).then(|| kind.measured(true_effect, rng));
        measured[idx % 3].extend(effect);
        hosts.push(Host { requests_per_s, prior_idx: idx % 3, effect });
    }
    let slices: Vec<&[Effect]> = measured.iter().map(Vec::as_slice).collect();
    let found = groups(&slices, Spread::PauleMandel, 0.05).expect("some hosts were measured");
    let priors: Vec<Prior> = (0..3).map(|idx| found.prior(idx).expect("some hosts were measured")).collect();
    let found = total(&priors, hosts, 0.05).expect("some hosts were measured");
    assert_eq!((found.n_measured, found.n_predicted), (200, 1800));
    found.cores.covers(truth)
}

#[test]
fn the_top_twenty_of_a_large_fleet_hold_seventeen_of_the_true_ones() {
    let rng = &mut Rng::seed_from_u64(1);
    let kind = Kind { errors: Errors { typical: 0.01, ..KIND.errors }, ..KIND };
    let rates: Vec<f64> = (0..100_000).map(|_| (1.5 * normal(rng)).exp()).collect();
    let truths: Vec<f64> = rates.iter().map(|_| kind.truth(rng)).collect();
    let measured = truths.iter().map(|truth| kind.measured(*truth, rng));
    let effects: Vec<Effect> = measured.collect();
    // A part of the hosts is enough to estimate their distribution.
    let prior = pool(&effects[..2000], Spread::PauleMandel, 0.05).unwrap().prior().unwrap();
    let said = rates.iter().zip(&effects).map(|(rate, effect)| rate * prior.posterior(Some(effect)).value);
    let truth = rates.iter().zip(&truths).map(|(rate, effect)| rate * effect);
    let (said, truth) = (top(&said.collect::<Vec<_>>()), top(&truth.collect::<Vec<_>>()));
    let n_hits = said.iter().filter(|it| truth.contains(it)).count();
    assert!(n_hits >= 17, "{n_hits} of 20");
}

fn top(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    order.truncate(20);
    order
}

// Over all hosts together, the shrunken effects are nearer to the true effects than the measured effects are.
#[test]
fn shrinking_takes_noise_out() {
    let rng = &mut Rng::seed_from_u64(7);
    let truths: Vec<f64> = (0..300).map(|_| KIND.truth(rng)).collect();
    let measured = truths.iter().map(|truth| KIND.measured(*truth, rng));
    let effects: Vec<Effect> = measured.collect();
    let prior = pool(&effects, Spread::PauleMandel, 0.05).unwrap().prior().unwrap();
    let far = |values: Vec<f64>| -> f64 {
        let pairs = values.iter().zip(&truths);
        pairs.map(|(value, truth)| (value - truth).powi(2)).sum()
    };
    let raw = far(effects.iter().map(Effect::value).collect());
    let shrunken = far(effects.iter().map(|it| prior.posterior(Some(it)).value).collect());
    assert!(shrunken < 0.9 * raw, "{shrunken} and {raw}");
}

/// Simulates two weeks of a host, with twelve epochs each; in the second week a request costs `dearer` more. Returns
/// the p-value of the difference.
fn p_of_two_weeks(dearer: f64, rng: &mut Rng) -> f64 {
    let mut week = |dearer: f64| {
        let epochs: Vec<f64> = (0..12).map(|_| 10.0 + dearer + normal(rng)).collect();
        per_request(&epochs, &[1.0; 12], 0.05).expect("there are epochs")
    };
    let (last, this) = (week(0.0), week(dearer));
    tested_difference(last, this, 0.05).p.expect("both have an interval")
}

// In a hundred of 1,000 hosts the cost increased: the list at 10 % contains most of these hosts, and other hosts are
// at most a tenth of the list.
#[test]
fn the_list_of_those_that_fell_back_is_mostly_right() {
    let (mut n_false, mut n_listed, mut n_found) = (0, 0, 0);
    for seed in 1..=10 {
        let rng = &mut Rng::seed_from_u64(seed);
        let fell_back = |idx: usize| idx < 100;
        let p_values: Vec<f64> =
            (0..1000).map(|idx| p_of_two_weeks(if fell_back(idx) { 2.0 } else { 0.0 }, rng)).collect();
        let adjusted = benjamini_hochberg(&p_values);
        let listed = (0..1000).filter(|idx| adjusted[*idx] <= 0.1);
        let listed: Vec<usize> = listed.collect();
        n_listed += listed.len();
        n_found += listed.iter().filter(|idx| fell_back(**idx)).count();
        n_false += listed.iter().filter(|idx| !fell_back(**idx)).count();
    }
    assert!(n_found > 900, "{n_found} of 1000 found");
    assert!(n_false > 0, "the test sees nothing");
    check_share(n_false, n_listed, 0.0..=0.12);
}
