//! pgbench: PostgreSQL with pgbench's own tables.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Arm;
use looptax_model::dsn::Kind;

use super::output::{number_after, quantile};
use crate::peers::tool::{Address, Ask, BOTH, Effort, Length, Report, Tool};
use crate::peers::work::Work;
use crate::process;

pub(crate) const PGBENCH: Tool = Tool {
    name: "pgbench",
    install: "scripts/setup.sh peers, or apt-get install postgresql",
    version: || super::output::version_of(&program().to_string_lossy(), "--version"),
    command,
    read,
    length: Length::Seconds,
    arms: BOTH,
    can_count: true,
    server: None,
};

/// Creates and fills pgbench's tables: 100,000 accounts.
pub(crate) fn fill(at: &Address) -> Result<()> {
    let mut command = connected(at, Arm::Unix);
    command.args(["--initialize", "--quiet", "--scale=1"]);
    process::run(command).context("cannot fill pgbench's tables")?;
    Ok(())
}

/// Makes the command with as many threads as cores, as pgbench's manual advises.
fn command(ask: &Ask<'_>) -> Result<Command> {
    if !matches!(ask.work, Work::SelectOnly | Work::PooledSelectOnly) {
        bail!("pgbench does no {}", ask.work.words());
    }
    let n_threads = ask.n_cores.min(ask.connections as usize);
    let mut command = connected(ask.at, ask.arm);
    command
        .args(["--select-only", "--no-vacuum", "--protocol=prepared"])
        .arg(format!("--random-seed={}", ask.seed))
        .arg(format!("--client={}", ask.connections))
        .arg(format!("--jobs={n_threads}"));
    if ask.reconnects {
        command.arg("--connect");
    }
    if let Some(folder) = ask.log {
        command.arg("--log").arg(format!("--log-prefix={}", folder.join(LOG).display()));
    }
    match ask.effort {
        Effort::Seconds(seconds) => command.arg(format!("--time={seconds}")),
        Effort::Requests(n) => {
            let each = (n / u64::from(ask.connections)).max(1);
            command.arg(format!("--transactions={each}"))
        }
    };
    Ok(command)
}

fn read(report: &str, ask: &Ask<'_>) -> Result<Report> {
    let n_requests = number_after(report, "number of transactions actually processed:");
    let n_failed = number_after(report, "number of failed transactions:");
    // The line is `tps = 123.4 (without initial connection time)`.
    let rate_per_s = number_after(report, "tps =");
    match (n_requests, n_failed, rate_per_s) {
        (Some(n), None | Some(0.0), Some(rate_per_s)) => {
            let times_us = ask.log.map_or_else(|| Ok(Vec::new()), logged)?;
            let [p50_us, p99_us] = [0.5, 0.99].map(|it| quantile(&times_us, it));
            Ok(Report { n_requests: n as u64, rate_per_s, rates_1s: Vec::new(), p50_us, p99_us })
        }
        _ => bail!("pgbench counted failures, or does not report its transactions:\n{report}"),
    }
}

/// The prefix of the names of pgbench's logs.
const LOG: &str = "transactions";

/// Returns the times of all transactions in µs, sorted: the third column of pgbench's logs, which has a file for each
/// thread.
fn logged(folder: &Path) -> Result<Vec<f64>> {
    let mut times_us = Vec::new();
    for file in fs::read_dir(folder).context("cannot list pgbench's logs")? {
        let path = file?.path();
        if !path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(LOG.as_bytes())) {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        times_us.extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<f64>().ok()));
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    times_us.sort_unstable_by(f64::total_cmp);
    Ok(times_us)
}

/// Returns pgbench's path. It is in the server's folder, because Debian does not link it for every version.
fn program() -> OsString {
    let own = find_binary(Kind::Postgres).map(|server| server.with_file_name("pgbench"));
    own.filter(|path| path.is_file()).map_or_else(|| "pgbench".into(), OsString::from)
}

fn connected(at: &Address, arm: Arm) -> Command {
    let mut command = Command::new(program());
    command
        .env("PGPASSWORD", &at.password)
        .env("PGUSER", &at.user)
        .env("PGDATABASE", &at.database)
        .env("PGPORT", at.port.to_string())
        .env("PGSSLMODE", "disable")
        .env("PGGSSENCMODE", "disable");
    if arm == Arm::Unix {
        command.env("PGHOST", at.socket.parent().unwrap_or(&at.socket));
    } else {
        command.env("PGHOST", "127.0.0.1");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tool::tests::ask;

    const REPORT: &str = "transaction type: <builtin: select only>
number of transactions actually processed: 79012
number of failed transactions: 0 (0.000%)
latency average = 0.012 ms
initial connection time = 4.211 ms
tps = 79100.250000 (without initial connection time)
";

    #[test]
    fn reads_transactions_and_their_rate() {
        let report = read(REPORT, &ask(Work::SelectOnly)).unwrap();
        assert_eq!((report.n_requests, report.rate_per_s), (79_012, 79_100.25));
    }

    #[test]
    fn reads_the_times_of_all_threads_and_takes_their_logs_away() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("transactions.7"), "0 1 30 0 1700000000 5\n0 2 10 0 1700000000 9\n").unwrap();
        fs::write(folder.path().join("transactions.7.1"), "1 1 20 0 1700000000 5\n").unwrap();
        let report = read(REPORT, &Ask { log: Some(folder.path()), ..ask(Work::SelectOnly) }).unwrap();
        assert_eq!((report.p50_us, report.p99_us), (Some(20.0), Some(30.0)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn reads_a_count_beside_the_one_asked_for() {
        let report = REPORT.replace("processed: 79012", "processed: 16/16");
        assert_eq!(read(&report, &ask(Work::SelectOnly)).unwrap().n_requests, 16);
    }

    #[test]
    fn believes_no_report_with_failures() {
        let failed = REPORT.replace("transactions: 0 ", "transactions: 2 ");
        assert!(read(&failed, &ask(Work::SelectOnly)).is_err());
        assert!(read("", &ask(Work::SelectOnly)).is_err());
    }
}
