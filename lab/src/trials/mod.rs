//! `cargo lab trials`: series of `looptax trial` on a page with known truth.
//!
//! The page is a PHP script that connects to a private MariaDB and sends 54 queries. Three questions are tested. With
//! both arms alike: how often does looptax report a difference? With one arm longer by a wait that is counted: how
//! often does the interval contain the wait? With an application by itself, and the same application under the
//! supervisor that leaves all connections on TCP: how much does a trial cost that moves nothing?

mod applications;
mod native;
mod site;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};

use looptax_model::record::{Estimate, Verdict};
use looptax_model::stats::median;

use crate::one_core::pin_to_last_core;
use crate::workspace;
use site::{Site, shown};

/// The delay that is added to each page of one arm, in µs.
const INJECTED_US: u64 = 1_000;

#[derive(Subcommand)]
pub(crate) enum Chore {
    /// Both arms alike
    Aa(Series),
    /// One arm longer by a millisecond per page
    Injected(Series),
    /// An application by itself compared with one under a supervisor that moves nothing
    Native(native::Options),
    /// Applications with a pool in Rust and Java
    Applications(applications::Options),
}

/// The number of trials, and their length.
#[derive(Args)]
pub(crate) struct Series {
    /// Number of trials
    #[arg(long, default_value_t = 40)]
    trials: u32,
    /// Number of epochs in each trial
    #[arg(long, default_value_t = 20)]
    epochs: u32,
}

pub(crate) fn run(chore: &Chore) -> Result<()> {
    let looptax = workspace::looptax()?;
    if matches!(chore, Chore::Native(_)) {
        pin_to_last_core()?;
    }
    let site = Site::start(&looptax)?;
    match chore {
        Chore::Aa(series) => alike(&site, series),
        Chore::Injected(series) => injected(&site, series),
        Chore::Native(options) => native::run(options, &site),
        Chore::Applications(options) => applications::run(options, &site),
    }
}

fn alike(site: &Site, series: &Series) -> Result<()> {
    let options = ["--arms", "tcp,tcp", "--fixed"].map(str::to_owned);
    let options: Vec<String> = options.into_iter().chain([series.epochs.to_string()]).collect();
    let mut n_claimed = 0;
    for trial in 1..=series.trials {
        let record = site.tried(&options)?;
        let tax = { record.comparisons.first() }.and_then(|it| it.tax.first());
        let tax = tax.context("a trial without a verdict")?;
        let is_claimed = matches!(tax.verdict, Verdict::Difference | Verdict::Negligible);
        n_claimed += u32::from(is_claimed);
        let pct = shown(tax.throughput_pct.known());
        println!("{trial}: {pct} %, {:?}", tax.verdict);
    }
    println!("{n_claimed} of {} trials claimed a difference", series.trials);
    Ok(())
}

fn injected(site: &Site, series: &Series) -> Result<()> {
    let inject = INJECTED_US.to_string();
    let options = ["--arms", "tcp,tcp", "--inject-us", &inject, "--fixed"].map(str::to_owned);
    let options: Vec<String> = options.into_iter().chain([series.epochs.to_string()]).collect();
    let mut n_covered = 0;
    for trial in 1..=series.trials {
        let (added, truth_us) = tried_with_truth(site, &options)?;
        let lo = added.lo.context("an open interval")?;
        let hi = added.hi.context("an open interval")?;
        let is_covered = (lo..=hi).contains(&truth_us);
        n_covered += u32::from(is_covered);
        println!("{trial}: {} µs, injected {truth_us:.1} µs, covered: {is_covered}", shown(Some(&added)));
    }
    println!("the interval covered the injected time in {n_covered} of {} trials", series.trials);
    Ok(())
}

/// Returns the time by which the other arm's pages were slower, and the time that a page waited by its own count, in
/// µs.
fn tried_with_truth(site: &Site, options: &[String]) -> Result<(Estimate, f64)> {
    let record = site.tried(options)?;
    let comparison = record.comparisons.first().context("nothing was measured")?;
    let tax = comparison.tax.first().context("a trial without a verdict")?;
    let added = tax.latency_us.mean.known().copied().context("no time of a page")?;
    // The typical wait is used, because the estimate is about the typical page, and a sleep sometimes lasts much
    // longer.
    let typical = |arm_idx: u32| {
        let slices = comparison.raw.epochs.iter().flat_map(|it| &it.slices);
        let own = slices.filter(|it| it.arm_idx == arm_idx && it.completions > 0);
        let waits = own.map(|it| it.injected_ns as f64 / 1e3 / it.completions as f64);
        median(&mut waits.collect::<Vec<f64>>()).context("no pages")
    };
    Ok((added, typical(1)? - typical(0)?))
}
