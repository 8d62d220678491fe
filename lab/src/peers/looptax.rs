//! Runs looptax on both arms of the same server, as a user would measure a running server.
//!
//! All figures come from the record that looptax prints, except for the kernel's figures about the process.

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

/// Length of the shortest slice that counts for the rates over a second.
const SECOND_NS: u64 = 1_000_000_000;
const LEAST_EPOCHS: u32 = 6;

/// looptax's results on both arms.
#[derive(Debug, Clone)]
pub(crate) struct LooptaxRun {
    /// The arms, in the order of the case.
    pub(crate) arms: Vec<LooptaxArm>,
    /// Tax of tcp compared with unix, in percent, with its 95 % interval.
    pub(crate) tax_pct: Option<Estimate>,
    /// Resources of the whole process: warm-up, both arms, analysis.
    pub(crate) used: Used,
    /// Number of all requests that looptax sent by its own count, divided by the server's count; `None` if the server
    /// does not count.
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
    /// The rate of each slice of a second or more.
    pub(crate) rates_1s: Vec<f64>,
}

/// Checks that looptax accepts the case's arguments, without measuring.
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

/// Runs looptax for `seconds` of epochs, with both arms together.
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
        // With settling and slices of a second, the lowest number of epochs already takes a minute and a half.
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

/// Adds the arguments for a running server. The server was started on its cores by this program, so looptax places only
/// the client's threads.
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

/// Returns how many requests a peer would count for one of looptax's: one for each command of a batch, one for each
/// byte of a stream.
fn peers_requests(workload: &Workload) -> f64 {
    let bytes = workload.stream.as_ref().map_or(1, |stream| stream.bytes);
    f64::from(workload.pipeline) * bytes as f64
}
