//! wrk: requests pages over HTTP on connections that stay open. It does not support Unix sockets.

use std::process::Command;

use anyhow::{Context, Result, bail};
use looptax_model::dsn::Arm;
use looptax_wire::site;

use super::output::number_after;
use crate::peers::tool::{Ask, Effort, Length, Report, Tool};
use crate::peers::work::Work;

pub(crate) const WRK: Tool = Tool {
    name: "wrk",
    install: "scripts/setup.sh peers, or apt-get install wrk",
    version,
    command,
    read,
    length: Length::Seconds,
    arms: &[Arm::Tcp],
    can_count: false,
    server: None,
};

/// Returns the version, as in `wrk debian/4.1.0-3+b2 [epoll] …`. wrk exits with an error status after it has printed
/// its version.
fn version() -> Result<String> {
    let output = Command::new("wrk").arg("--version").output();
    let output = output.context("cannot run wrk")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split_whitespace().take(2);
    Ok(words.collect::<Vec<_>>().join(" "))
}

/// Makes the command with as many threads as cores, as wrk's manual advises.
fn command(ask: &Ask<'_>) -> Result<Command> {
    let (Work::Hello, Effort::Seconds(seconds)) = (ask.work, ask.effort) else {
        bail!("wrk does no {}", ask.work.words());
    };
    let n_threads = ask.n_cores.min(ask.connections as usize);
    let mut command = Command::new("wrk");
    command
        .arg(format!("--connections={}", ask.connections))
        .arg(format!("--threads={n_threads}"))
        .arg(format!("--duration={seconds}s"))
        .arg("--latency")
        .arg(format!("http://127.0.0.1:{}/{}", ask.at.port, site::HELLO));
    Ok(command)
}

fn read(report: &str, _: &Ask<'_>) -> Result<Report> {
    let has_failed = report.contains("Socket errors:") || report.contains("Non-2xx");
    let n_requests = report.lines().find_map(|line| {
        let (n, _) = line.trim().split_once(" requests in ")?;
        n.parse().ok()
    });
    let rate_per_s = number_after(report, "Requests/sec:");
    let quantile_us = |name: &str| report.lines().find_map(|line| micros(line.trim().strip_prefix(name)?));
    let (p50_us, p99_us) = (quantile_us("50%"), quantile_us("99%"));
    match (n_requests, rate_per_s) {
        (Some(n_requests), Some(rate_per_s)) if !has_failed => {
            Ok(Report { n_requests, rate_per_s, rates_1s: Vec::new(), p50_us, p99_us })
        }
        _ => bail!("wrk counted failures, or does not report its requests:\n{report}"),
    }
}

/// Parses a time such as `74.00us` or `1.20ms`.
fn micros(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, factor) = match text.strip_suffix("us") {
        Some(number) => (number, 1.0),
        None => (text.strip_suffix("ms")?, 1e3),
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tool::tests::ask;

    const REPORT: &str = "Running 1s test @ http://127.0.0.1:7/hello
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   189.36us  146.31us   4.50ms   98.17%
    Req/Sec    86.28k     2.75k   90.11k    72.73%
  Latency Distribution
     50%  174.00us
     75%  201.00us
     90%  239.00us
     99%  420.00us
  94468 requests in 1.10s, 27.39MB read
Requests/sec:  85919.43
Transfer/sec:     24.91MB
";

    #[test]
    fn reads_pages_their_rate_and_their_median() {
        let report = read(REPORT, &ask(Work::Hello)).unwrap();
        assert_eq!((report.n_requests, report.rate_per_s), (94_468, 85_919.43));
        assert_eq!((report.p50_us, report.p99_us), (Some(174.0), Some(420.0)));
        assert_eq!(micros(" 1.20ms"), Some(1200.0));
    }

    #[test]
    fn believes_no_report_with_failures() {
        let failed = format!("{REPORT}  Non-2xx or 3xx responses: 4\n");
        assert!(read(&failed, &ask(Work::Hello)).is_err());
        assert!(read("", &ask(Work::Hello)).is_err());
    }
}
