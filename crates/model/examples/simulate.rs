//! Simulates many runs, and prints as a table how often each preset gives a false alarm, and how often its interval
//! contains the true value.
//!
//! `cargo run --release -p looptax-model --example simulate [runs]` takes minutes. The seeds are fixed, so the same
//! number of runs prints the same table. METHOD.md and the release gate use the table.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]

use std::io::{self, Write};

use looptax_model::stats::{Decision, Input, InterimAnalyses, StopRule, Verdict, primary};

#[path = "../tests/stats/noise_model.rs"]
mod noise_model;

use noise_model::{CLOUD, Model, Rng};

/// Counts of the results of many simulated runs.
#[derive(Default)]
struct Tally {
    differences: u64,
    negligible: u64,
    equivalent: u64,
    covered: u64,
    n_epochs: usize,
}

fn main() -> io::Result<()> {
    let n_runs = match std::env::args().nth(1) {
        None => 1000,
        Some(word) => word.parse().map_err(io::Error::other)?,
    };
    let mut out = io::stdout().lock();
    writeln!(out, "preset  theta  between  difference  negligible  equivalent  covered  mean epochs")?;
    let presets = [
        ("full", InterimAnalyses::full()),
        ("quick", InterimAnalyses::quick()),
        ("short", InterimAnalyses::short()),
        ("fixed20", InterimAnalyses::fixed(20)),
    ];
    for (name, analyses) in &presets {
        for theta in [0.0, 0.01, 0.03, 0.1] {
            for between_sd in [0.0, 0.01] {
                let model = Model { theta, between_sd, ..CLOUD };
                print(&mut out, name, model, n_runs, &tally(model, analyses, n_runs))?;
            }
        }
    }
    Ok(())
}

fn tally(model: Model, analyses: &InterimAnalyses, n_runs: u64) -> Tally {
    let mut tally = Tally::default();
    for seed in 1..=n_runs {
        add_run(&mut tally, model, analyses, seed);
    }
    tally
}

/// Simulates one run up to the interim analysis that stops it.
fn add_run(tally: &mut Tally, model: Model, analyses: &InterimAnalyses, seed: u64) {
    let epochs = model.epochs(analyses.n_max(), &mut Rng::new(seed));
    for analysis in analyses.iter() {
        let found = primary(&Input {
            epochs: &epochs[..analysis.n_epochs],
            connections: 1,
            alpha: analysis.alpha,
            delta: 0.01,
            invalid: vec![],
            stopped_early: !analysis.is_last,
            can_move: false,
        });
        let theta = found.theta.expect("every interim analysis has epochs");
        let rule = StopRule { is_precise: false };
        if rule.decide(analysis, &theta, found.verdict) == Decision::Continue {
            continue;
        }
        tally.differences += u64::from(found.verdict == Verdict::Difference);
        tally.negligible += u64::from(found.verdict == Verdict::Negligible);
        tally.equivalent += u64::from(found.verdict == Verdict::Equivalent);
        tally.covered += u64::from(theta.covers(model.theta));
        tally.n_epochs += analysis.n_epochs;
        return;
    }
}

fn print(out: &mut impl Write, name: &str, model: Model, n_runs: u64, tally: &Tally) -> io::Result<()> {
    let share = |n: u64| n as f64 / n_runs as f64;
    writeln!(
        out,
        "{name:7} {:5.3}  {:7.3}  {:10.4}  {:10.4}  {:10.4}  {:7.4}  {:11.1}",
        model.theta,
        model.between_sd,
        share(tally.differences),
        share(tally.negligible),
        share(tally.equivalent),
        share(tally.covered),
        tally.n_epochs as f64 / n_runs as f64,
    )
}
