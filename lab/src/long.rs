//! `cargo lab long`: the checks that take too long to run for every commit.
//!
//! `make test-all` runs this. The results belong in docs/src/results, with date and machine; this chore does not write
//! them there.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::workspace::run_cargo;

/// The chores: a description of each, and the arguments of `cargo` that run only this chore.
const STEPS: [(&str, &str); 20] = [
    ("drivers connect with what dsn prints", "lab dialects"),
    ("real clients under looptax run", "lab clients run"),
    ("logins under looptax run", "lab oracle logins"),
    ("reports of check about accounts, and its advice", "lab oracle accounts"),
    ("records with one field changed", "lab records --mutants 2000"),
    ("random programs under looptax run", "lab oracle programs"),
    ("statistics, simulated", "run --release --locked --package looptax-model --example simulate"),
    ("a fleet, simulated", "run --release --locked --package looptax-model --example simulate_fleet"),
    ("verdicts on disturbed machines, simulated", "run --release --locked --package lab -- disturbed simulate"),
    ("doctor, 100 runs", "run --release --locked --package looptax -- doctor private:redis --runs 100 --fixed"),
    ("trials with both arms alike", "lab trials aa"),
    ("trials with a millisecond injected", "lab trials injected --trials 20"),
    ("trials of applications with a pool", "lab trials applications"),
    ("layers that add up", "lab why sums"),
    ("layers with both arms alike", "lab why alike --runs 5"),
    ("layers with a microsecond injected", "lab why injected --runs 5"),
    ("the report page in a browser", "lab web browser"),
    ("the versions that are in use", "lab versions"),
    ("an ordinary user attacks root's looptax", "lab attacks"),
    ("peers", "lab peers"),
];

/// Runs all chores, and stops at the first failure.
pub(crate) fn run() -> Result<()> {
    for (name, words) in STEPS {
        println!("== {name}");
        let start = Instant::now();
        let words: Vec<&str> = words.split(' ').collect();
        run_cargo(&words).with_context(|| format!("step {name} failed"))?;
        let seconds = start.elapsed().as_secs_f64();
        println!("== {name}: fine, {seconds:.1} s");
    }
    Ok(())
}
