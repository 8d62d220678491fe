//! looptax on both arms of the same server, as a user would measure a running one.
//!
//! Everything comes from the record that it prints, except for the kernel's figures of the process.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use looptax_model::record::{Comparison, Estimate, Workload};
use looptax_wire::site;

use super::case::{Case, Place};
use super::tool::Address;
use super::work::Work;
use crate::process::{self, Used};
use crate::recorded::{self, Arm};

/// Shortest slice that has a rate over a second.
const SECOND_NS: u64 = 1_000_000_000;
const LEAST_EPOCHS: u32 = 6;

/// looptax's results on both arms.
#[derive(Debug, Clone)]
pub(crate) struct LooptaxRun {
    /// As the case lists its arms.
    pub(crate) arms: Vec<LooptaxArm>,
    /// Of tcp over unix, in percent, with its 95 % interval.
    pub(crate) tax_pct: Option<Estimate>,
    /// The whole process: warm-up, both arms, analysis.
    pub(crate) used: Used,
    /// Its count of everything that it sent over the server's count, if the server counts.
    pub(crate) count_ratio: Option<f64>,
}

/// looptax's results on an arm.
#[derive(Debug, Clone)]
pub(crate) struct LooptaxArm {
    pub(crate) rate_per_s: f64,
    /// CPU time of the client's threads in user mode, µs per request.
    pub(crate) user_us: f64,
    /// CPU time of the client's threads in the kernel, µs per request.
    pub(crate) system_us: f64,
    pub(crate) p50_us: Option<f64>,
    /// Of each slice of a second or more.
    pub(crate) rates_1s: Vec<f64>,
}

/// Asks looptax whether it knows what the case asks of it, without measuring.
pub(crate) fn check(case: &Case, looptax: &Path) -> Result<()> {
    let target = match case.kind() {
        Some(kind) => format!("private:{kind}"),
        None => "echo".to_owned(),
    };
    let mut command = Command::new(looptax);
    command.args(["compare", &target, "--dry-run"]);
    command.args(["--connections", &case.connections.to_string()]);
    command.args(case.options());
    let done = process::run(command);
    done.map(drop).context("this looptax does not support it")
}

/// Runs it for `seconds` of epochs, both arms together.
pub(crate) fn measure(case: &Case, at: &Address, looptax: &Path, seconds: u32, seed: u64) -> Result<LooptaxRun> {
    let mut command = Command::new(looptax);
    command.arg("compare");
    if case.kind().is_some() {
        name_running(&mut command, case, at);
    } else {
        let placement = match case.place {
            Place::OneCore => "same",
            Place::Split => "split",
            Place::Free => "free",
        };
        command.args(["echo", "--placement", placement]);
    }
    let fixed = match case.place {
        // Settling and slices of a second: the fewest epochs take a minute and a half.
        Place::Free => LEAST_EPOCHS.to_string(),
        Place::OneCore | Place::Split => format!("{seconds}s"),
    };
    command
        .args(["--quiet", "--json", "--fixed", &fixed])
        .args(["--seed", &format!("{seed:x}")])
        .args(["--connections", &case.connections.to_string()])
        .args(case.options());
    let ended = process::run(command)?;
    read(&recorded::comparison(&ended.stdout)?, case, ended.used)
}

/// The server is ours and runs where it was put, so that only the client's threads are placed.
fn name_running(command: &mut Command, case: &Case, at: &Address) {
    let scheme = match case.work {
        Work::SelectOnly | Work::PooledSelectOnly => "postgres",
        Work::Hello => "http",
        Work::Get { .. } => "redis",
        _ => "mysql",
    };
    let placement = match case.place {
        Place::Free => "free",
        Place::OneCore | Place::Split => "client-pinned",
    };
    let url = match case.work {
        Work::Hello => format!("{scheme}://127.0.0.1:{}/{}", at.port, site::HELLO),
        _ => format!("{scheme}://{}@127.0.0.1:{}/{}", at.user, at.port, at.database),
    };
    command
        .env("LOOPTAX_PASSWORD", &at.password)
        .args([&url, "--own-server", "--yes"])
        .args(["--placement", placement])
        .arg("--socket")
        .arg(&at.socket);
}

fn read(comparison: &Comparison, case: &Case, used: Used) -> Result<LooptaxRun> {
    let arms: Result<_> = case.arms().iter().map(|it| arm(comparison, *it)).collect();
    let tax = comparison.tax.first();
    Ok(LooptaxRun {
        arms: arms?,
        tax_pct: tax.and_then(|tax| tax.throughput_pct.known()).copied(),
        used,
        count_ratio: comparison.server_count.as_ref().map(|count| count.sent as f64 / count.counted as f64),
    })
}

fn arm(comparison: &Comparison, wanted: looptax_model::dsn::Arm) -> Result<LooptaxArm> {
    let Arm { idx, seen: arm, rate_per_s, cpu } = Arm::find(comparison, wanted.name())?;
    let batch = peers_requests(&comparison.workload);
    let per_request = |ns: u64| ns as f64 / 1e3 / (batch * cpu.n_requests as f64);
    Ok(LooptaxArm {
        rate_per_s: batch * rate_per_s,
        user_us: per_request(cpu.user_ns),
        system_us: per_request(cpu.all_ns.saturating_sub(cpu.user_ns)),
        p50_us: arm.latency_us.p50.known().map(|estimate| estimate.value),
        rates_1s: recorded::slices_of(comparison, idx)
            .filter(|slice| slice.active_ns >= SECOND_NS)
            .map(|slice| batch * slice.completions as f64 * 1e9 / slice.active_ns as f64)
            .collect(),
    })
}

/// Returns how many requests peers count for one of looptax's: each command of a batch, each byte of a stream.
fn peers_requests(workload: &Workload) -> f64 {
    let bytes = workload.stream.as_ref().map_or(1, |stream| stream.bytes);
    f64::from(workload.pipeline) * bytes as f64
}
