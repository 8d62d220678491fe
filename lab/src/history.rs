//! `cargo lab history`: how long `looptax show` takes to list thousands of runs.
//!
//! Uses its own folder. The figures belong in docs/src/results, with date and machine.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use looptax_model::record::{Client, Estimate, PastRun, PastVerdict, Placement, Verdict};
use looptax_store::History;

use crate::{process, workspace};

/// Options of `history`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of runs in the history
    #[arg(long, default_value_t = 10_000)]
    runs: u32,
    /// How often each list is requested
    #[arg(long, default_value_t = 7)]
    looks: u32,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let looptax = workspace::looptax()?;
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let history = History::open(&folder.path().join("looptax/history.sqlite"))?;
    for idx in 0..options.runs {
        history.add(&past_run(idx))?;
    }
    println!("{} runs", options.runs);
    let all = options.runs.to_string();
    for arguments in [vec!["show"], vec!["show", "-n", &all], vec!["show", "-n", &all, "--json"]] {
        for _ in 0..options.looks {
            let mut command = Command::new(&looptax);
            command.args(&arguments).env("XDG_DATA_HOME", folder.path());
            let start = Instant::now();
            let ended = process::run(command)?;
            println!(
                "looptax {}: {:.0} ms, {} bytes printed",
                arguments.join(" "),
                start.elapsed().as_secs_f64() * 1e3,
                ended.stdout.len()
            );
        }
    }
    Ok(())
}

/// Makes a run with two verdicts, as most runs have.
fn past_run(idx: u32) -> PastRun {
    let verdict = |connections| PastVerdict {
        kind: "mariadb".to_owned(),
        version: "10.11.19-MariaDB".to_owned(),
        workload: "point-select".to_owned(),
        connections,
        placement: Placement::Same,
        client: Client::Poll,
        baseline: "unix".to_owned(),
        arm: "tcp".to_owned(),
        range_pct: None,
        failed_pct: None,
        throughput_pct: Some(Estimate { value: f64::from(idx % 300) / 10.0, lo: Some(1.0), hi: Some(30.0), n: 20 }),
        verdict: Verdict::Difference,
        direction: None,
    };
    PastRun {
        id: format!("20260101-{idx:06}-1"),
        label: None,
        started_at: format!("2026-01-01T00:00:00.{idx:09}Z"),
        path: Some(format!("/results/looptax-{idx}.json")),
        looptax_version: "0.1.0".to_owned(),
        method_version: 2,
        kernel: "6.18.0".to_owned(),
        command: vec!["looptax".to_owned(), "private:mariadb".to_owned()],
        interrupted: false,
        verdicts: vec![verdict(1), verdict(16)],
    }
}
