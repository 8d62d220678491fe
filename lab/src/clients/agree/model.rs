//! The model that stands for a client: looptax itself with `--client-like`, on the same server.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::rates::Rates;
use crate::clients::server::Server;
use crate::recorded::{self, Arm};

/// Runs looptax for `seconds` of epochs, with both arms together, on new connections.
pub(super) fn measure(name: &str, server: &Server, looptax: &Path, seconds: f64) -> Result<Rates> {
    let mut command = Command::new(looptax);
    command
        .env("LOOPTAX_PASSWORD", server.password())
        .arg("compare")
        .arg(server.url())
        .args(["--own-server", "--yes", "--quiet", "--connections", "1"])
        .args(["--client-like", name, "--placement", "client-pinned"])
        .args(["--workload", server.workload(), "--json"])
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
    let printed = String::from_utf8_lossy(&output.stdout);
    let comparison = recorded::comparison(&printed)?;
    let mut rates = Rates { per_s: [0.0; 2], cpu_us: [0.0; 2] };
    for (idx, name) in ["unix", "tcp"].into_iter().enumerate() {
        let Arm { rate_per_s, cpu, .. } = Arm::find(&comparison, name)?;
        rates.per_s[idx] = rate_per_s;
        rates.cpu_us[idx] = cpu.all_ns as f64 / 1e3 / cpu.n_requests as f64;
    }
    Ok(rates)
}
