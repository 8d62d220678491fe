//! Simulates many fleets, and prints tables on standard output: how often the intervals of a fleet, the interval of its
//! sum and its ranking are right.
//!
//! `cargo run --release -p looptax-model --example simulate_fleet [runs [part]]`; `part` is `pooled`, `epochs`, `sum`
//! or `ranking`. The seeds are fixed, so the same number of runs prints the same tables. docs/src/results/fleet.md has
//! the tables; 1,000 runs of all parts take half an hour.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]

use std::{io, thread};

mod epochs;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/stats/fleet_model.rs"]
mod fleet_model;
mod pooled;
mod ranking;
mod sum;

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let n_runs = match words.next() {
        None => 1000,
        Some(word) => word.parse().map_err(io::Error::other)?,
    };
    let part = words.next();
    let is_wanted = |name: &str| part.as_ref().is_none_or(|it| it == name);
    let mut out = io::stdout().lock();
    if is_wanted("pooled") {
        pooled::print(&mut out, n_runs)?;
    }
    if is_wanted("epochs") {
        epochs::print(&mut out, n_runs)?;
    }
    if is_wanted("sum") {
        sum::print(&mut out, n_runs)?;
    }
    if is_wanted("ranking") {
        ranking::print(&mut out, n_runs)?;
    }
    Ok(())
}

/// Returns the results of `run` for the seeds 1, 2, … in this order. Uses one thread per core, but at least four.
fn runs<T: Send>(n_runs: u64, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let n_threads = thread::available_parallelism().map_or(4, |it| it.get().max(4)) as u64;
    let run = &run;
    thread::scope(|scope| {
        let share = |idx: u64| (n_runs * idx / n_threads + 1)..=(n_runs * (idx + 1) / n_threads);
        let threads: Vec<_> =
            (0..n_threads).map(|idx| scope.spawn(move || share(idx).map(run).collect::<Vec<T>>())).collect();
        let results = threads.into_iter().map(|it| it.join().expect("no run panics"));
        results.flatten().collect()
    })
}
