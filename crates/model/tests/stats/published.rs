//! Compares pooled effects with those that R's package metafor computes from published data.
//!
//! `tests/meta_vectors.R` makes `tests/meta_vectors.json`; the script has the command in its first lines, and names
//! the source of each data set. The variances of these data are known, so the degrees of freedom are infinite.

use looptax_model::stats::Estimate;
use looptax_model::stats::meta::{
    Effect, Pooled, Prior, Spread, benjamini_hochberg, benjamini_yekutieli, groups, pool,
};
use serde_json::Value;

const STUDIES: [&str; 6] = ["bcg", "normand", "hackshaw", "bangert_drowns", "raudenbush", "yusuf"];
const SPREADS: [(&str, Spread); 2] = [("PM", Spread::PauleMandel), ("REML", Spread::RestrictedLikelihood)];

fn load() -> Value {
    serde_json::from_str(include_str!("../meta_vectors.json")).expect("the file is JSON")
}

#[track_caller]
fn floats(value: &Value) -> Vec<f64> {
    let items = value.as_array().expect("an array of numbers");
    items.iter().map(|item| item.as_f64().expect("an array of numbers")).collect()
}

fn effects(study: &Value) -> Vec<Effect> {
    let pairs = floats(&study["values"]).into_iter();
    let pairs = pairs.zip(floats(&study["variances"]));
    pairs.map(|(value, variance)| Effect::new(value, variance, f64::INFINITY).expect("a usable effect")).collect()
}

/// Checks that `found` differs from `expected` by at most a millionth of `expected`, or by at most 1e-6 if `expected`
/// is below 1.
#[track_caller]
fn check(what: &str, found: f64, expected: &Value) {
    let expected = expected.as_f64().expect("a number");
    let far = (found - expected).abs();
    assert!(far <= 1e-6 * expected.abs().max(1.0), "{what}: found {found}, expected {expected}");
}

#[track_caller]
fn check_ends(what: &str, found: &Estimate, expected: &Value) {
    check(what, found.lo, &expected[0]);
    check(what, found.hi, &expected[1]);
}

fn each_study(look: impl Fn(&str, &Value, &[Effect])) {
    let vectors = load();
    for name in STUDIES {
        let study = &vectors[name];
        look(name, study, &effects(study));
    }
}

fn each_fit(look: impl Fn(&str, &Value, &[Effect], &Pooled)) {
    each_study(|name, study, effects| {
        for (word, spread) in SPREADS {
            let found = pool(effects, spread, 0.05).expect("there are studies");
            look(&format!("{name} {word}"), &study[word], effects, &found);
        }
    });
}

#[test]
fn the_variance_between_hosts_is_the_published_one() {
    each_fit(|name, fit, _, found| {
        check(name, found.tau_squared.value, &fit["tau2"]);
        check_ends(name, &found.tau_squared, &fit["tau2_ci"]);
        check(name, 100.0 * found.i_squared.value, &fit["i2_pct"]);
        check(name, found.h_squared.value, &fit["h2"]);
    });
}

#[test]
fn the_mean_has_the_guarded_interval() {
    each_fit(|name, fit, _, found| {
        check(name, found.mean.value, &fit["mean"]);
        check(name, found.mean_variance.sqrt(), &fit["guarded_se"]);
        check_ends(name, &found.mean, &fit["guarded_ci"]);
        check_ends(name, &found.prediction, &fit["prediction"]);
    });
}

#[test]
fn the_guard_widens_what_agrees_by_chance() {
    let vectors = load();
    let study = &vectors["yusuf"];
    let found = pool(&effects(study), Spread::PauleMandel, 0.05).unwrap();
    let unguarded = study["PM"]["knha_se"].as_f64().unwrap();
    assert!(found.mean_variance.sqrt() > 1.4 * unguarded, "{found:?}");
}

#[test]
fn the_fixed_mean_and_cochrans_q_agree() {
    each_study(|name, study, effects| {
        let found = pool(effects, Spread::PauleMandel, 0.05).unwrap();
        check(name, found.fixed.value, &study["fixed"]);
        check_ends(name, &found.fixed, &study["fixed_ci"]);
        check(name, found.homogeneity.q, &study["q"]);
        check(name, found.homogeneity.p.unwrap(), &study["q_p"]);
        let known = effects.len() as f64 - 1.0;
        assert!((found.homogeneity.expected - known).abs() < 1e-9, "{name}");
    });
}

#[test]
fn each_study_shrinks_as_it_should() {
    each_fit(|name, fit, effects, found| {
        // metafor treats τ² as known.
        let prior = Prior { tau_squared_variance: 0.0, ..found.prior().unwrap() };
        for (idx, effect) in effects.iter().enumerate() {
            let posterior = prior.posterior(Some(effect));
            check(name, posterior.value, &fit["blup"][idx]);
            check(name, posterior.variance().sqrt(), &fit["blup_se"][idx]);
        }
    });
}

#[test]
fn groups_are_a_regression_on_them() {
    let vectors = load();
    let (all, expected) = (effects(&vectors["bcg"]), &vectors["bcg_by_allocation"]);
    let members = expected["groups"].as_array().unwrap().iter();
    let members = members.map(|group| {
        let indices = floats(group).into_iter();
        indices.map(|idx| all[idx as usize]).collect::<Vec<_>>()
    });
    let members: Vec<Vec<Effect>> = members.collect();
    let slices: Vec<&[Effect]> = members.iter().map(Vec::as_slice).collect();
    let found = groups(&slices, Spread::PauleMandel, 0.05).unwrap().common;
    check("τ²", found.tau_squared.value, &expected["tau2"]);
    check_ends("τ²", &found.tau_squared, &expected["tau2_ci"]);
    for idx in 0..3 {
        let mean = found.means[idx].unwrap().value;
        check("mean", mean, &expected["means"][idx]);
        check("se", found.variances[idx].sqrt(), &expected["ses"][idx]);
    }
    let between = found.between.unwrap();
    check("F", between.f, &expected["f"]);
    check("freedom", between.freedom[1], &expected["freedom"][1]);
    check("p", between.p, &expected["p"]);
    for (after, pair) in [(1, "first_to_second"), (2, "first_to_third")] {
        let difference = found.difference(0, after, 0.05).unwrap();
        check(pair, difference.estimate.value, &expected[pair][0]);
        check(pair, difference.p.unwrap(), &expected[pair][2]);
    }
    let reml = groups(&slices, Spread::RestrictedLikelihood, 0.05).unwrap();
    check("τ²", reml.common.tau_squared.value, &expected["tau2_reml"]);
}

#[test]
fn the_list_at_five_percent_is_the_published_one() {
    let vectors = load();
    let expected = &vectors["false_discovery"];
    let p_values = floats(&expected["p"]);
    let found = [benjamini_hochberg(&p_values), benjamini_yekutieli(&p_values)];
    for (found, word) in found.iter().zip(["bh", "by"]) {
        for (idx, found) in found.iter().enumerate() {
            check(word, *found, &expected[word][idx]);
        }
    }
    // The paper rejects four hypotheses.
    assert_eq!(found[0].iter().filter(|it| **it <= 0.05).count(), 4);
}
