//! looptax on both arms of the same server, as a user would measure a running one.
//!
//! Everything comes from the record that it prints, but for what the kernel says of the process.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use looptax_record::{Comparison, Estimate, Record};

use super::process::{self, Used};
use super::round::ARMS;
use super::server::Server;

/// What looptax found on both arms.
#[derive(Debug, Clone)]
pub(crate) struct LooptaxRun {
    pub(crate) version: String,
    /// By arm.
    pub(crate) arms: [LooptaxArm; 2],
    /// In percent, with its 95 % interval.
    pub(crate) tax_pct: Estimate,
    /// Warm-up and analysis included, both arms together.
    pub(crate) used: Used,
}

/// One arm of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LooptaxArm {
    pub(crate) rate_per_s: f64,
    /// CPU time of the client's threads in user mode, µs per query.
    pub(crate) user_us: f64,
}

/// Runs it for so many seconds of epochs, both arms together.
pub(crate) fn measure(server: &Server, looptax: &Path, seconds: u32) -> Result<LooptaxRun> {
    let url = format!(
        "mysql://{}@127.0.0.1:{}/{}",
        server.user(),
        server.port(),
        server.database()
    );
    let mut command = Command::new(looptax);
    command
        .env("LOOPTAX_PASSWORD", server.password())
        .args(["compare", &url, "--own-server", "--yes", "--quiet"])
        .args(["--client", "poll", "--connections", "1"])
        .args(["--placement", "client-pinned"])
        .args(["--workload", "point-select", "--json", "-"])
        .args(["--fixed", &format!("{seconds}s")])
        .arg("--socket")
        .arg(server.socket());
    let ended = process::run(command)?;
    let record: Record = serde_json::from_str(&ended.stdout).context("looptax prints no record")?;
    read(&record, ended.used)
}

fn read(record: &Record, used: Used) -> Result<LooptaxRun> {
    let [comparison] = record.comparisons.as_slice() else {
        bail!("looptax made {} comparisons", record.comparisons.len());
    };
    let tax = comparison.tax.first().context("looptax gives no tax")?;
    let known = tax.throughput_pct.known();
    Ok(LooptaxRun {
        version: record.looptax_version.clone(),
        arms: [arm(comparison, 0)?, arm(comparison, 1)?],
        tax_pct: *known.context("looptax gives no figure for the tax")?,
        used,
    })
}

fn arm(comparison: &Comparison, idx: u32) -> Result<LooptaxArm> {
    let name = ARMS[idx as usize].name();
    let arm = comparison.arms.get(idx as usize);
    let arm = arm.filter(|arm| arm.name == name && arm.verified);
    let rate = arm.and_then(|arm| arm.throughput_per_s.known());
    Ok(LooptaxArm {
        rate_per_s: rate
            .with_context(|| format!("looptax gives no throughput of a proved arm `{name}`"))?
            .value,
        user_us: user_us(comparison, idx)
            .with_context(|| format!("looptax gives no CPU time of `{name}`"))?,
    })
}

/// The user time belongs to all requests of a slice, those of its guard and drain included.
fn user_us(comparison: &Comparison, arm_idx: u32) -> Option<f64> {
    let epochs = comparison.raw.epochs.iter();
    let slices = epochs.flat_map(|epoch| &epoch.slices);
    let (mut user_ns, mut n_requests) = (0, 0);
    for slice in slices.filter(|slice| slice.arm_idx == arm_idx) {
        user_ns += slice.client_user_ns?;
        n_requests += slice.requests;
    }
    (n_requests > 0).then(|| user_ns as f64 / 1e3 / n_requests as f64)
}
