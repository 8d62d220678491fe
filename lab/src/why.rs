//! `cargo lab why`: series of `looptax why` on private servers, compared with a known truth.
//!
//! Four questions are tested. Is the difference between the layers of two transports the difference in a request's CPU
//! time without the sampler? With both arms alike: does looptax report a difference in a layer? With one arm's client
//! kept busy for a known time: does this time appear in the client's own code, and nowhere else? With many connections
//! for a minute: how large do looptax and the page become?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use looptax_model::record::{Estimate, Figure, Record, Why, WhyRow};

use crate::process;
use crate::recorded;
use crate::workspace;

/// The layer whose code `--inject-ns` keeps busy.
const OWN_CODE: &str = "client, its own code";
/// The row for time that does not belong to any layer of the table.
const NOT_ATTRIBUTED: &str = "not attributed";
/// A layer is reported as different below this probability, which is corrected for the number of layers.
const LEVEL: f64 = 0.05;

#[derive(Subcommand)]
pub(crate) enum Chore {
    /// unix and tcp on each server: the sum of the layers compared with the CPU clocks in epochs without the sampler
    Sums(Series),
    /// Two arms that are alike
    Alike(Series),
    /// One arm, whose client is kept busy
    Injected(Injected),
    /// Many connections: memory of looptax, size of the page
    Large(Large),
}

/// The number of runs, their length, and their servers.
#[derive(Args)]
pub(crate) struct Series {
    /// Number of runs on each server
    #[arg(long, default_value_t = 10)]
    runs: u32,
    /// Number of epochs in each run
    #[arg(long, default_value_t = 24)]
    epochs: u32,
    /// Servers, as `looptax why` accepts them
    #[arg(long, value_delimiter = ',', default_values_t = usual_targets())]
    targets: Vec<String>,
}

/// A series with a known wait.
#[derive(Args)]
pub(crate) struct Injected {
    #[command(flatten)]
    series: Series,
    /// Nanoseconds for which the client is busy before each request
    #[arg(long, default_value_t = 1_000)]
    ns: u64,
}

/// One run with many connections.
#[derive(Args)]
pub(crate) struct Large {
    /// Number of connections of each arm
    #[arg(long, default_value_t = 1_024)]
    connections: u32,
    /// Number of epochs; each takes about four seconds with that many connections
    #[arg(long, default_value_t = 12)]
    epochs: u32,
    /// The server
    #[arg(long, default_value = "private:redis")]
    target: String,
}

fn usual_targets() -> Vec<String> {
    let all = ["private:mariadb", "private:postgres", "private:redis", "echo"];
    all.map(str::to_owned).to_vec()
}

pub(crate) fn run(chore: &Chore) -> Result<()> {
    let looptax = workspace::looptax()?;
    match chore {
        Chore::Sums(series) => sums(&looptax, series),
        Chore::Alike(series) => alike(&looptax, series),
        Chore::Injected(options) => injected(&looptax, options),
        Chore::Large(options) => large(&looptax, options),
    }
}

/// Calls `judge` with the samples of each run; the servers take turns.
fn each_run(
    looptax: &Path,
    series: &Series,
    options: &[&str],
    mut judge: impl FnMut(&str, u32, &Why) -> Result<()>,
) -> Result<()> {
    let epochs = series.epochs.to_string();
    for run in 1..=series.runs {
        for target in &series.targets {
            let mut command = Command::new(looptax);
            command.args(["why", target, "--fixed", &epochs, "--no-history", "--json"]);
            command.args(options);
            let comparison = recorded::comparison(&process::run(command)?.stdout)?;
            let why = comparison.why.first().context("nothing was sampled")?;
            judge(target, run, why)?;
        }
    }
    Ok(())
}

fn sums(looptax: &Path, series: &Series) -> Result<()> {
    println!("| server | run | layers, µs | clocks without the sampler, µs | overlap | not attributed, % |");
    println!("|---|---|---|---|---|---|");
    let (mut n_overlapping, mut n_runs) = (0, 0);
    each_run(looptax, series, &["--arms", "unix,tcp"], |target, run, why| {
        let sum = why.sum.as_ref().context("no sum")?;
        let [layers, clocks] =
            [Some(sum), why.without_sampler.as_ref()].map(|row| row.and_then(|it| ends(&it.difference)));
        let (layers, clocks) = layers.zip(clocks).context("no intervals")?;
        let do_overlap = layers.1 <= clocks.2 && clocks.1 <= layers.2;
        let left_pct = [0, 1].map(|side: usize| {
            let left = row(why, NOT_ATTRIBUTED).map_or(0.0, |it| value(&it.arms[side]));
            100.0 * left / value(&sum.arms[side])
        });
        println!(
            "| {target} | {run} | {} | {} | {} | {:.1}, {:.1} |",
            shown(layers),
            shown(clocks),
            if do_overlap { "yes" } else { "no" },
            left_pct[0],
            left_pct[1]
        );
        for it in &why.invalid {
            println!("  invalid: {it}");
        }
        n_overlapping += u32::from(do_overlap);
        n_runs += 1;
        Ok(())
    })?;
    println!("\nthe intervals overlap in {n_overlapping} of {n_runs} runs");
    Ok(())
}

fn alike(looptax: &Path, series: &Series) -> Result<()> {
    let (mut n_said, mut n_layers) = (0, 0);
    each_run(looptax, series, &["--arms", "tcp,tcp"], |target, run, why| {
        n_layers += why.rows.len();
        let said: Vec<&WhyRow> = why.rows.iter().filter(|it| is_said(it)).collect();
        n_said += said.len();
        let names: Vec<&str> = said.iter().map(|it| it.name.as_str()).collect();
        println!("{target}, {run}: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") });
        Ok(())
    })?;
    println!("{n_said} of {n_layers} layers were reported to differ");
    Ok(())
}

fn injected(looptax: &Path, options: &Injected) -> Result<()> {
    let ns = options.ns.to_string();
    let (mut n_covered, mut n_elsewhere, mut n_runs) = (0, 0, 0);
    let words = ["--arms", "tcp,tcp", "--inject-ns", &ns];
    each_run(looptax, &options.series, &words, |target, run, why| {
        let truth_us = waited_us(why, 1) - waited_us(why, 0);
        let own = row(why, OWN_CODE).and_then(|it| ends(&it.difference));
        let own = own.context("no layer of the client's own code")?;
        let is_covered = (own.1..=own.2).contains(&truth_us);
        let elsewhere: Vec<&str> =
            { why.rows.iter() }.filter(|it| it.name != OWN_CODE && is_said(it)).map(|it| it.name.as_str()).collect();
        n_covered += u32::from(is_covered);
        n_elsewhere += elsewhere.len();
        n_runs += 1;
        println!(
            "{target}, {run}: {} µs, truth {truth_us:.2} µs, covered: {is_covered}, elsewhere: {elsewhere:?}",
            shown(own)
        );
        Ok(())
    })?;
    println!("covered in {n_covered} of {n_runs} runs; {n_elsewhere} other layers were reported to differ");
    Ok(())
}

/// Returns the time for which a request of one arm was kept busy, by the arm's own count, in µs.
fn waited_us(why: &Why, side: usize) -> f64 {
    let arms = [looptax_model::stats::Side::Baseline, looptax_model::stats::Side::Other];
    let slices = why.epochs.iter().flat_map(|it| it.raw.slices_of(arms[side]));
    let (ns, n) = slices.fold((0, 0), |(ns, n), it| (ns + it.injected_ns, n + it.requests));
    ns as f64 / 1e3 / n as f64
}

fn large(looptax: &Path, options: &Large) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let page: PathBuf = folder.path().join("why.html");
    let mut command = Command::new(looptax);
    command.args(["why", &options.target, "--no-history", "--json"]);
    command.args(["-c", &options.connections.to_string(), "--fixed", &options.epochs.to_string()]);
    command.arg("--html").arg(&page);
    let done = process::run(command)?;
    let record: Record = serde_json::from_str(&done.stdout)?;
    let samples = record.comparisons.iter().flat_map(|it| &it.why);
    let n_samples: u64 = samples.map(|it| it.sampling.n_samples).sum();
    println!(
        "{} connections, {n_samples} samples: looptax at most {} MiB, page {} KiB, record {} KiB",
        options.connections,
        done.used.peak_bytes.unwrap_or(0) >> 20,
        fs::metadata(&page)?.len() / 1_024,
        done.stdout.len() / 1_024
    );
    Ok(())
}

fn row<'a>(why: &'a Why, name: &str) -> Option<&'a WhyRow> {
    why.rows.iter().find(|it| it.name == name)
}

fn is_said(row: &WhyRow) -> bool {
    row.p.is_some_and(|p| p < LEVEL)
}

fn value(figure: &Figure) -> f64 {
    figure.known().map_or(0.0, |it| it.value)
}

/// Returns the value and both ends of its interval.
fn ends(figure: &Figure) -> Option<(f64, f64, f64)> {
    let it: &Estimate = figure.known()?;
    Some((it.value, it.lo?, it.hi?))
}

fn shown((value, lo, hi): (f64, f64, f64)) -> String {
    format!("{value:+.2} [{lo:.2}, {hi:.2}]")
}
