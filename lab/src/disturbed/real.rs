//! Real runs under real disturbances: how often looptax reports that an arm differs from itself, and how often that
//! the socket differs from TCP.
//!
//! Everything runs on private servers of looptax and has a time limit; the disturbances end together with this process.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use looptax_model::record::{Doctor, DoctorResult, Tax, Verdict};
use looptax_model::stats::median;

use super::load::{Disturbing, Load};
use crate::{recorded, workspace};

/// Options of `real`.
#[derive(Args)]
pub(crate) struct Options {
    /// The disturbances to run under
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Load::value_variants().to_vec())]
    load: Vec<Load>,
    /// Runs of each arm against itself, and of unix against tcp
    #[arg(long, default_value_t = 20)]
    runs: u32,
    /// Epochs of each run of an arm against itself
    #[arg(long, default_value_t = 20)]
    epochs: u32,
    /// Leave out one of the two: `aa` or `power`
    #[arg(long, value_enum)]
    only: Option<Part>,
}

/// The two questions that the runs answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Does an arm differ from itself?
    Aa,
    /// Does the socket differ from TCP?
    Power,
}

/// Time limit of looptax in seconds, for each run that it was asked for.
const MOST_S: u32 = 90;

/// Runs the measurements, and prints a line for each question and disturbance.
pub(crate) fn run(options: &Options) -> Result<()> {
    let looptax = workspace::looptax()?;
    let asks = |part| options.only.is_none_or(|only| only == part);
    for load in &options.load {
        if asks(Part::Aa) {
            print_aa(&looptax, *load, options)?;
        }
        if asks(Part::Power) {
            print_power(&looptax, *load, options.runs)?;
        }
    }
    Ok(())
}

fn print_aa(looptax: &Path, load: Load, options: &Options) -> Result<()> {
    let words = format!("doctor private:redis --tests aa --runs {} --fixed {} --json", options.runs, options.epochs);
    let printed = beside(looptax, load, &words, MOST_S * options.runs)?;
    let found: Doctor = serde_json::from_str(&printed).context("doctor prints no result")?;
    for check in &found.checks {
        let DoctorResult::Aa(aa) = check else {
            continue;
        };
        println!(
            "{load}, {} against itself: {} of {} runs report a difference; stolen {:.1} %, other work {:.1} %",
            aa.arm,
            aa.alarms,
            aa.runs,
            found.steal_pct.unwrap_or_default(),
            found.foreign_pct.unwrap_or_default(),
        );
    }
    Ok(())
}

fn print_power(looptax: &Path, load: Load, n_runs: u32) -> Result<()> {
    let mut taxes: Vec<Tax> = Vec::new();
    for _ in 0..n_runs {
        let words = "compare private:redis --arms unix,tcp -c 1 --placement same --quick --warm-up 1s \
                     --no-history --quiet --json";
        let printed = beside(looptax, load, words, MOST_S)?;
        taxes.extend(recorded::comparison(&printed)?.tax.into_iter().next());
    }
    let n = |verdict| taxes.iter().filter(|tax| tax.verdict == verdict).count();
    let middle = |of: &dyn Fn(&Tax) -> Option<f64>| {
        let mut values: Vec<f64> = taxes.iter().filter_map(of).collect();
        median(&mut values).unwrap_or(f64::NAN)
    };
    println!(
        "{load}, unix against tcp: {} of {} runs report a difference, {} are inconclusive, {} are invalid; median {:.1} %, \
         {:.0} epochs, stolen {:.1} %, other work {:.1} %",
        n(Verdict::Difference),
        taxes.len(),
        n(Verdict::Inconclusive),
        n(Verdict::Invalid),
        middle(&|tax| tax.throughput_pct.known().map(|it| it.value)),
        middle(&|tax| Some(f64::from(tax.n_epochs))),
        middle(&|tax| tax.diagnostics.steal_pct),
        middle(&|tax| tax.diagnostics.foreign_pct),
    );
    for tax in taxes.iter().filter(|tax| tax.verdict != Verdict::Difference) {
        println!("  {}: {:?}", tax.verdict, tax.reason);
    }
    Ok(())
}

/// Runs looptax with these arguments during the disturbance, and returns its output.
///
/// The exit code of looptax is not checked: "the machine is busy" is one of the expected results.
fn beside(looptax: &Path, load: Load, words: &str, most_s: u32) -> Result<String> {
    let mut disturbing = Disturbing::start(load)?;
    let records = tempfile::tempdir().context("no folder for records")?;
    let mut command = disturbing.limited("timeout");
    command.arg("--kill-after=10").arg(most_s.to_string());
    command.arg(looptax).args(words.split_whitespace());
    command.current_dir(records.path());
    command.env("XDG_DATA_HOME", records.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = child.stderr(Stdio::null()).spawn();
    let child = child.context("cannot start `timeout`")?;
    disturbing.aim_at_servers_of(child.id());
    let ended = child.wait_with_output().context("cannot wait for looptax")?;
    if ended.status.code() == Some(124) {
        bail!("`looptax {words}` did not end in {most_s} s");
    }
    String::from_utf8(ended.stdout).context("looptax prints no text")
}

/// These tests do not check the machine: [`Disturbing::start`] reports whether this machine has what a disturbance
/// needs.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disturbance_has_a_word_of_its_own() {
        let mut words: Vec<String> = { Load::value_variants().iter() }.map(ToString::to_string).collect();
        words.dedup();
        assert_eq!(words.len(), 3);
    }
}
