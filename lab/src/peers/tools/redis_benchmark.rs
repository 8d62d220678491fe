//! redis-benchmark: GET of keys like looptax's, drawn evenly.

use std::process::Command;

use anyhow::{Context, Result, bail};
use looptax_model::dsn::Arm;

use crate::peers::tool::{Ask, BOTH, Effort, Length, Report, Tool};
use crate::peers::work::{KEY_PREFIX, ROWS, Work};

pub(crate) const REDIS_BENCHMARK: Tool = Tool {
    name: "redis-benchmark",
    install: "scripts/setup.sh peers, or apt-get install redis-tools",
    version: || super::output::version_of("redis-benchmark", "--version"),
    command,
    read,
    length: Length::Requests,
    arms: BOTH,
    can_count: true,
    server: None,
};

fn command(ask: &Ask<'_>) -> Result<Command> {
    let Work::Get { pipeline } = ask.work else {
        bail!("redis-benchmark does no {}", ask.work.words());
    };
    let mut command = Command::new("redis-benchmark");
    if ask.arm == Arm::Unix {
        command.arg("-s").arg(&ask.at.socket);
    } else {
        command.args(["-h", "127.0.0.1", "-p", &ask.at.port.to_string()]);
    }
    command
        .args(["-a", &ask.at.password])
        .args(["-c", &ask.connections.to_string()])
        .args(["-P", &pipeline.to_string()])
        .args(["-n", &n_requests(ask)?.to_string()])
        .args(["-k", if ask.reconnects { "0" } else { "1" }])
        .args(["-r", &ROWS.to_string(), "--csv"])
        .args(["GET", &format!("{KEY_PREFIX}__rand_int__")]);
    Ok(command)
}

/// Reads the second line: `"GET …","91911.76","0.329",…` with rate, then mean, lowest, median, p95 and p99 latency in
/// ms.
fn read(report: &str, ask: &Ask<'_>) -> Result<Report> {
    let line = report.lines().find(|line| line.starts_with("\"GET "));
    let fields = line.map(|line| line.split(',').map(|field| field.trim_matches('"')));
    let fields: Vec<&str> = fields.context("redis-benchmark prints no figures")?.collect();
    let number = |idx: usize| fields.get(idx).and_then(|field| field.parse::<f64>().ok());
    Ok(Report {
        n_requests: n_requests(ask)?,
        rate_per_s: number(1).context("redis-benchmark prints no rate")?,
        rates_1s: Vec::new(),
        p50_us: number(4).map(|ms| 1e3 * ms),
        p99_us: number(6).map(|ms| 1e3 * ms),
    })
}

fn n_requests(ask: &Ask<'_>) -> Result<u64> {
    match ask.effort {
        Effort::Requests(n) => Ok(n),
        Effort::Seconds(_) => bail!("redis-benchmark takes no length in seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tool::tests::ask;

    const REPORT: &str = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\"
\"GET looptax_scratch_peers:__rand_int__\",\"91911.76\",\"0.329\",\"0.104\",\"0.295\",\"0.511\",\"0.704\"
";

    #[test]
    fn reads_rate_and_median() {
        let report = read(REPORT, &ask(Work::Get { pipeline: 1 })).unwrap();
        assert_eq!((report.n_requests, report.rate_per_s), (1000, 91_911.76));
        assert_eq!((report.p50_us, report.p99_us), (Some(295.0), Some(704.0)));
        assert!(read("", &ask(Work::Get { pipeline: 1 })).is_err());
    }
}
