//! Checks that the intervals keep their level: false alarms in A/A runs, and coverage of a known effect.
//!
//! The seeds are fixed, so a failure means that the code has changed. The limits are those of the binomial
//! distribution: a tool with the promised rates fails one of them for one of a thousand seeds.

use looptax_model::stats::{
    Decision, Epoch, Estimate, Input, InterimAnalyses, Primary, StopRule, Verdict, primary, selfcheck,
};

use crate::noise_model::{CLOUD, Model, Rng};

fn judged(epochs: &[Epoch], alpha: f64) -> Primary {
    primary(&Input {
        epochs,
        connections: 1,
        alpha,
        delta: 0.01,
        invalid: vec![],
        stopped_early: false,
        can_move: false,
    })
}

/// Runs `n_runs` simulations with `analyses`; returns θ and the verdict of each.
fn run(model: Model, analyses: &InterimAnalyses, n_runs: u64) -> Vec<(Estimate, Verdict)> {
    let one = |seed| {
        let epochs = model.epochs(analyses.n_max(), &mut Rng::new(seed));
        for analysis in analyses.iter() {
            let found = judged(&epochs[..analysis.n_epochs], analysis.alpha);
            let theta = found.theta.expect("every interim analysis has epochs");
            let rule = StopRule { is_precise: false };
            if rule.decide(analysis, &theta, found.verdict) != Decision::Continue {
                return (theta, found.verdict);
            }
        }
        panic!("the last analysis never stopped");
    };
    (1..=n_runs).map(one).collect()
}

fn is_alarm(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Difference | Verdict::Negligible)
}

#[track_caller]
fn check_false_alarms(analyses: &InterimAnalyses, n_runs: u64, most: usize) {
    let found = run(CLOUD, analyses, n_runs);
    let n_alarms = found.iter().filter(|(_, verdict)| is_alarm(*verdict)).count();
    assert!(n_alarms <= most, "{n_alarms} false alarms in {n_runs} runs");
    assert!(n_alarms > 0, "no alarm at all: the test sees nothing");
    let thetas: Vec<f64> = found.iter().map(|(theta, _)| theta.value).collect();
    assert!(selfcheck::mean_theta(&thetas).is_some_and(|mean| mean.passes()));
}

#[test]
fn identical_arms_raise_few_alarms_at_one_look() {
    // For Binomial(400, 0.05), P(X > 34) = 0.001.
    check_false_alarms(&InterimAnalyses::fixed(12), 400, 34);
}

#[test]
fn looking_again_does_not_raise_more() {
    // For Binomial(400, 0.05), P(X > 34) = 0.001.
    check_false_alarms(&InterimAnalyses::quick(), 400, 34);
}

#[test]
fn intervals_cover_the_truth() {
    let model = Model { theta: 0.03, between_sd: 0.005, ..CLOUD };
    let found = run(model, &InterimAnalyses::fixed(20), 200);
    let n_covered = found.iter().filter(|(theta, _)| theta.covers(0.03)).count();
    // For Binomial(200, 0.95), P(X < 180) = 0.002. If all 200 intervals contained the effect, the interval would be
    // too wide.
    assert!((180..=199).contains(&n_covered), "{n_covered} of 200 cover");
}

#[test]
fn a_large_effect_is_found_in_few_epochs() {
    let model = Model { theta: 0.1, ..CLOUD };
    let found = run(model, &InterimAnalyses::quick(), 50);
    let n_found = found.iter().filter(|(theta, verdict)| *verdict == Verdict::Difference && theta.value > 0.0).count();
    assert!(n_found >= 48, "{n_found} of 50 found");
}
