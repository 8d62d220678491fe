//! pgbench: PostgreSQL with pgbench's own tables.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result, bail};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Arm;
use looptax_model::dsn::Kind;

use super::output::number_after;
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

/// As many threads as there are cores for them: what its manual advises.
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
    match ask.effort {
        Effort::Seconds(seconds) => command.arg(format!("--time={seconds}")),
        Effort::Requests(n) => {
            let each = (n / u64::from(ask.connections)).max(1);
            command.arg(format!("--transactions={each}"))
        }
    };
    Ok(command)
}

fn read(report: &str, _: &Ask<'_>) -> Result<Report> {
    let n_requests = number_after(report, "number of transactions actually processed:");
    let n_failed = number_after(report, "number of failed transactions:");
    // `tps = 123.4 (without initial connection time)`.
    let rate_per_s = number_after(report, "tps =");
    match (n_requests, n_failed, rate_per_s) {
        (Some(n), None | Some(0.0), Some(rate_per_s)) => {
            Ok(Report { n_requests: n as u64, rate_per_s, rates_1s: Vec::new(), p50_us: None })
        }
        _ => bail!("pgbench counted failures, or says nothing of its transactions:\n{report}"),
    }
}

/// It lies beside the server, where Debian puts no link for every version.
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
