//! sysbench's point select on one arm.
//!
//! sysbench takes its password as an argument only; it is a random one of a private server that is
//! gone a minute later.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::process::{self, Used};
use super::round::Arm;
use super::server::{ROWS, Server};

/// What sysbench found on one arm.
#[derive(Debug, Clone)]
pub(crate) struct SysbenchRun {
    pub(crate) rate_per_s: f64,
    /// CPU time of the whole process in user mode, µs per query.
    pub(crate) user_us: f64,
    pub(crate) used: Used,
}

/// The program's name and version.
pub(crate) fn version() -> Result<String> {
    let mut command = Command::new("sysbench");
    command.arg("--version");
    let ended = process::run(command).context("sysbench is needed: apt-get install sysbench")?;
    Ok(ended.stdout.trim().to_owned())
}

/// Runs it with one thread for so many seconds.
pub(crate) fn measure(server: &Server, arm: Arm, seconds: u32) -> Result<SysbenchRun> {
    let mut command = Command::new("sysbench");
    command
        .args(["oltp_point_select", "--db-driver=mysql", "--threads=1"])
        .args(["--tables=1", "--rand-type=uniform", "--db-ps-mode=auto"])
        .arg(format!("--table-size={ROWS}"))
        .arg(format!("--time={seconds}"))
        .arg(format!("--mysql-user={}", server.user()))
        .arg(format!("--mysql-password={}", server.password()))
        .arg(format!("--mysql-db={}", server.database()));
    match arm {
        Arm::Unix => command.arg(format!("--mysql-socket={}", server.socket().display())),
        Arm::Tcp => command
            .arg("--mysql-host=127.0.0.1")
            .arg(format!("--mysql-port={}", server.port())),
    };
    command.arg("run");
    let ended = process::run(command)?;
    let (n_queries, rate_per_s) = counted(&ended.stdout)?;
    Ok(SysbenchRun {
        rate_per_s,
        user_us: 1e6 * ended.used.user_s / n_queries,
        used: ended.used,
    })
}

/// Queries and queries per second.
fn counted(report: &str) -> Result<(f64, f64)> {
    if field(report, "ignored errors:").is_none_or(|[n, _]| n != 0.0) {
        bail!("sysbench counted failed queries, or says nothing of them:\n{report}");
    }
    match field(report, "queries:") {
        Some([n_queries, rate_per_s]) if n_queries > 0.0 => Ok((n_queries, rate_per_s)),
        _ => bail!("sysbench says nothing of its queries:\n{report}"),
    }
}

/// The numbers of a line `name 123 (4.5 per sec.)`.
fn field(report: &str, name: &str) -> Option<[f64; 2]> {
    let rest = report
        .lines()
        .find_map(|line| line.trim().strip_prefix(name))?;
    let (count, rate) = rest.split_once('(')?;
    let rate = rate.split_whitespace().next()?;
    Some([count.trim().parse().ok()?, rate.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "SQL statistics:
    queries performed:
        total:                           7000
    transactions:                        7000   (3499.75 per sec.)
    queries:                             7000   (3499.50 per sec.)
    ignored errors:                      0      (0.00 per sec.)
";

    #[test]
    fn reads_queries_and_their_rate() {
        assert_eq!(counted(REPORT).unwrap(), (7000.0, 3499.5));
    }

    #[test]
    fn believes_no_report_with_failures_or_without_queries() {
        let errors = "ignored errors:                      0 ";
        assert!(counted(&REPORT.replace(errors, "ignored errors: 3")).is_err());
        assert!(counted(&REPORT.replace("queries: ", "questions: ")).is_err());
        assert!(counted("").is_err());
    }
}
