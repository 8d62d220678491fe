//! mariadb-slap: MariaDB and MySQL, with a connection for each query (`--detach`), which sysbench does not support.
//!
//! It reads its password from an options file, as MariaDB's clients do.

use std::process::Command;

use anyhow::{Context, Result, bail};
use looptax_model::dsn::Arm;

use super::output::number_after;
use crate::peers::tool::{Ask, BOTH, Effort, Length, Report, Tool};
use crate::peers::work::Work;

pub(crate) const SLAP: Tool = Tool {
    name: "mariadb-slap",
    install: "scripts/setup.sh peers, or apt-get install mariadb-client",
    version: || super::output::version_of("mariadb-slap", "--version"),
    command,
    read,
    length: Length::Requests,
    arms: BOTH,
    can_count: true,
    server: None,
};

fn command(ask: &Ask<'_>) -> Result<Command> {
    if ask.work != Work::Select {
        bail!("mariadb-slap does no {}", ask.work.words());
    }
    let mut command = Command::new("mariadb-slap");
    command
        .arg("--no-defaults")
        .env("MYSQL_PWD", &ask.at.password)
        .arg(format!("--user={}", ask.at.user))
        .arg(format!("--create-schema={}", ask.at.database))
        .args(["--no-drop", "--iterations=1", "--skip-ssl", "--query=SELECT 1"])
        .arg(format!("--concurrency={}", ask.connections))
        .arg(format!("--number-of-queries={}", n_requests(ask)?));
    if ask.reconnects {
        command.arg("--detach=1");
    }
    if ask.arm == Arm::Unix {
        command.arg(format!("--socket={}", ask.at.socket.display()));
    } else {
        command.args(["--protocol=tcp", "--host=127.0.0.1"]).arg(format!("--port={}", ask.at.port));
    }
    Ok(command)
}

/// Reads the line `Average number of seconds to run all queries: 1.234 seconds`.
fn read(report: &str, ask: &Ask<'_>) -> Result<Report> {
    let seconds = number_after(report, "Average number of seconds to run all queries:");
    let seconds = seconds.with_context(|| format!("mariadb-slap prints no time:\n{report}"))?;
    let n_requests = n_requests(ask)?;
    let rate_per_s = n_requests as f64 / seconds;
    Ok(Report { n_requests, rate_per_s, rates_1s: Vec::new(), p50_us: None, p99_us: None })
}

/// Returns the number of requests that are sent: each connection's share, times the number of connections.
fn n_requests(ask: &Ask<'_>) -> Result<u64> {
    let Effort::Requests(n) = ask.effort else { bail!("mariadb-slap takes no length in seconds") };
    let connections = u64::from(ask.connections);
    Ok((n / connections).max(1) * connections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tool::tests::ask;

    #[test]
    fn reads_the_time_and_knows_the_number() {
        let report = "Benchmark\n\tAverage number of seconds to run all queries: 0.500 seconds\n";
        let report = read(report, &ask(Work::Select)).unwrap();
        assert_eq!((report.n_requests, report.rate_per_s), (1000, 2000.0));
        assert!(read("", &ask(Work::Select)).is_err());
    }
}
