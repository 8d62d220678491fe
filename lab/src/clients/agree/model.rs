//! The model that stands for a client: looptax itself, with `--client-like`, on the same server.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use looptax_record::{Comparison, Record};

use super::Rates;
use crate::clients::server::Server;

/// Runs looptax for so many seconds of epochs, both arms together, on fresh connections.
pub(super) fn measure(name: &str, server: &Server, looptax: &Path, seconds: f64) -> Result<Rates> {
    let mut command = Command::new(looptax);
    command
        .env("LOOPTAX_PASSWORD", server.password())
        .arg("compare")
        .arg(server.url())
        .args(["--own-server", "--yes", "--quiet", "--connections", "1"])
        .args(["--client-like", name, "--placement", "client-pinned"])
        .args(["--workload", server.workload(), "--json", "-"])
        .args(["--fixed", &format!("{}s", seconds.ceil())])
        .arg("--socket")
        .arg(server.socket())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    if server.wants_scratch_keys() {
        command.arg("--write");
    }
    let output = command.output().context("cannot start looptax")?;
    if !output.status.success() {
        bail!("looptax failed: {}", output.status);
    }
    let record: Record =
        serde_json::from_slice(&output.stdout).context("looptax prints no record")?;
    let [comparison] = record.comparisons.as_slice() else {
        bail!("looptax made {} comparisons", record.comparisons.len());
    };
    rates(comparison)
}

fn rates(comparison: &Comparison) -> Result<Rates> {
    let mut rates = Rates {
        per_s: [0.0; 2],
        cpu_us: [0.0; 2],
    };
    for (idx, arm) in ["unix", "tcp"].into_iter().enumerate() {
        let found = comparison
            .arms
            .get(idx)
            .filter(|it| it.name == arm && it.verified);
        let rate = found.and_then(|it| it.throughput_per_s.known());
        rates.per_s[idx] = rate
            .with_context(|| format!("looptax gives no throughput of a proved arm `{arm}`"))?
            .value;
        rates.cpu_us[idx] = cpu_us(comparison, idx as u32)
            .with_context(|| format!("looptax gives no CPU time of `{arm}`"))?;
    }
    Ok(rates)
}

/// CPU time of the client's threads, over all requests of the arm's slices.
fn cpu_us(comparison: &Comparison, arm_idx: u32) -> Option<f64> {
    let epochs = comparison.raw.epochs.iter();
    let slices = epochs.flat_map(|epoch| &epoch.slices);
    let (mut cpu_ns, mut n_requests) = (0, 0);
    for slice in slices.filter(|slice| slice.arm_idx == arm_idx) {
        cpu_ns += slice.client_cpu_ns?;
        n_requests += slice.requests;
    }
    (n_requests > 0).then(|| cpu_ns as f64 / 1e3 / n_requests as f64)
}
