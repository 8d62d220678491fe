//! sysbench: MariaDB, with sysbench's own Lua scripts.
//!
//! It accepts its password only as an argument. This is a random password of a private server that ends a minute later.

use std::process::Command;

use anyhow::{Result, bail};
use looptax_model::dsn::Arm;

use super::output::number_after;
use crate::peers::tool::{Ask, BOTH, Effort, Length, Report, Tool};
use crate::peers::work::{ROWS, Work};

pub(crate) const SYSBENCH: Tool = Tool {
    name: "sysbench",
    install: "scripts/setup.sh peers, or apt-get install sysbench",
    version: || super::output::version_of("sysbench", "--version"),
    command,
    read,
    length: Length::Seconds,
    arms: BOTH,
    can_count: true,
    server: None,
};

fn command(ask: &Ask<'_>) -> Result<Command> {
    let script = match ask.work {
        Work::PointSelect => "oltp_point_select",
        Work::ReadWrite => "oltp_read_write",
        other => bail!("sysbench does no {}", other.words()),
    };
    let mut command = Command::new("sysbench");
    command
        .args([script, "--db-driver=mysql", "--tables=1"])
        .args(["--rand-type=uniform", "--db-ps-mode=auto"])
        .args(["--report-interval=1", "--events=0", "--percentile=99"])
        .arg(format!("--rand-seed={}", ask.seed.max(1)))
        .arg(format!("--threads={}", ask.connections))
        .arg(format!("--table-size={ROWS}"))
        .arg(format!("--mysql-user={}", ask.at.user))
        .arg(format!("--mysql-password={}", ask.at.password))
        .arg(format!("--mysql-db={}", ask.at.database));
    if ask.arm == Arm::Unix {
        command.arg(format!("--mysql-socket={}", ask.at.socket.display()));
    } else {
        command.arg("--mysql-host=127.0.0.1").arg(format!("--mysql-port={}", ask.at.port));
    }
    match ask.effort {
        Effort::Seconds(seconds) => command.arg(format!("--time={seconds}")),
        Effort::Requests(n) => command.arg("--time=0").arg(format!("--events={n}")),
    };
    command.arg("run");
    Ok(command)
}

/// Reads a report. A request is a query of the point select, or a transaction of the read-write mix. Neither may fail.
/// If a transaction is repeated after a deadlock, sysbench counts an ignored error.
fn read(report: &str, ask: &Ask<'_>) -> Result<Report> {
    let is_mix = ask.work == Work::ReadWrite;
    let errors = field(report, "ignored errors:");
    if errors.is_none_or(|[n, _]| n != 0.0 && !is_mix) {
        bail!("sysbench counted failed queries, or does not report them:\n{report}");
    }
    let name = if is_mix { "transactions:" } else { "queries:" };
    let Some([n_requests, rate_per_s]) = field(report, name) else {
        bail!("sysbench does not report its {name}\n{report}");
    };
    // The unit is ms, with a resolution of 10 µs.
    let p99_us = number_after(report, "99th percentile:").map(|ms| 1e3 * ms);
    Ok(Report { n_requests: n_requests as u64, rate_per_s, rates_1s: rates_1s(report), p50_us: None, p99_us })
}

/// Returns the numbers of a line `name 123 (4.5 per sec.)`.
fn field(report: &str, name: &str) -> Option<[f64; 2]> {
    let rest = report.lines().find_map(|line| line.trim().strip_prefix(name))?;
    let (count, rate) = rest.split_once('(')?;
    let rate = rate.split_whitespace().next()?;
    Some([count.trim().parse().ok()?, rate.parse().ok()?])
}

/// Returns the transactions of each second, from the lines `[ 1s ] thds: 16 tps: 4.5 …`.
fn rates_1s(report: &str) -> Vec<f64> {
    let lines = report.lines().filter(|line| line.starts_with("[ "));
    lines
        .filter_map(|line| {
            let rest = line.split_once("tps:")?.1;
            rest.split_whitespace().next()?.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tool::tests::ask;

    const REPORT: &str = "[ 1s ] thds: 1 tps: 3498.10 qps: 3498.10 (r/w/o: 3498.10/0.00/0.00) lat (ms,95%): 0.01
[ 2s ] thds: 1 tps: 3501.00 qps: 3501.00 (r/w/o: 3501.00/0.00/0.00) lat (ms,95%): 0.01
SQL statistics:
    queries performed:
        total:                           7000
    transactions:                        350    (174.97 per sec.)
    queries:                             7000   (3499.50 per sec.)
    ignored errors:                      0      (0.00 per sec.)
Latency (ms):
         99th percentile:                        0.35
";

    #[test]
    fn reads_queries_and_the_rate_of_each_second() {
        let report = read(REPORT, &ask(Work::PointSelect)).unwrap();
        assert_eq!((report.n_requests, report.rate_per_s), (7000, 3499.5));
        assert_eq!(report.rates_1s, [3498.1, 3501.0]);
        assert_eq!(report.p99_us, Some(350.0));
        let report = read(REPORT, &ask(Work::ReadWrite)).unwrap();
        assert_eq!((report.n_requests, report.rate_per_s), (350, 174.97));
    }

    #[test]
    fn believes_no_report_with_failures_or_without_queries() {
        let errors = "ignored errors:                      0 ";
        let ask = ask(Work::PointSelect);
        assert!(read(&REPORT.replace(errors, "ignored errors: 3"), &ask).is_err());
        assert!(read(&REPORT.replace("queries: ", "questions: "), &ask).is_err());
        assert!(read("", &ask).is_err());
    }
}
