//! oha: requests pages over HTTP on connections that stay open, over a port or a Unix socket.

use std::process::Command;

use anyhow::{Context, Result, bail};
use looptax_model::dsn::Arm;
use looptax_wire::site;
use serde_json::Value;

use crate::peers::tool::{Ask, BOTH, Effort, Length, Report, Tool};
use crate::peers::work::Work;

pub(crate) const OHA: Tool = Tool {
    name: "oha",
    install: "cargo install oha",
    version,
    command,
    read,
    length: Length::Seconds,
    arms: BOTH,
    can_count: false,
    server: None,
};

/// Returns the version, as in `oha 1.9.0`.
fn version() -> Result<String> {
    let output = Command::new("oha").arg("--version").output();
    let output = output.context("cannot run oha")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Makes the command without oha's live view, which would use CPU time during the load.
fn command(ask: &Ask<'_>) -> Result<Command> {
    let (Work::Hello, Effort::Seconds(seconds)) = (ask.work, ask.effort) else {
        bail!("oha does no {}", ask.work.words());
    };
    let mut command = Command::new("oha");
    command
        .args(["--no-tui", "--output-format", "json", "-c"])
        .arg(ask.connections.to_string())
        .args(["-z", &format!("{seconds}s")]);
    if ask.arm == Arm::Unix {
        command.arg("--unix-socket").arg(&ask.at.socket);
    }
    command.arg(format!("http://127.0.0.1:{}/{}", ask.at.port, site::HELLO));
    Ok(command)
}

/// Reads a report. At its end, oha counts requests in flight as errors, one for each connection.
fn read(report: &str, ask: &Ask<'_>) -> Result<Report> {
    let report: Value = serde_json::from_str(report).context("oha writes no JSON")?;
    let n_requests = report["statusCodeDistribution"]["200"].as_u64();
    let counted = |name: &str| {
        let all = report[name].as_object().into_iter().flatten();
        all.filter_map(|(name, n)| Some((name.as_str(), n.as_u64()?))).collect::<Vec<_>>()
    };
    let is_wrong =
        |(words, n): &(&str, u64)| !words.contains("aborted due to deadline") || *n > u64::from(ask.connections);
    let has_failed = counted("errorDistribution").iter().any(is_wrong) || counted("statusCodeDistribution").len() != 1;
    let rate_per_s = report["summary"]["requestsPerSec"].as_f64();
    match (n_requests, rate_per_s) {
        (Some(n_requests), Some(rate_per_s)) if !has_failed => Ok(Report {
            n_requests,
            rate_per_s,
            rates_1s: Vec::new(),
            p50_us: report["latencyPercentiles"]["p50"].as_f64().map(|s| s * 1e6),
            p99_us: report["latencyPercentiles"]["p99"].as_f64().map(|s| s * 1e6),
        }),
        _ => bail!("oha counted failures, or does not report its requests:\n{report:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tool::tests::ask;

    const REPORT: &str = r#"{"summary": {"requestsPerSec": 50000.5}, "latencyPercentiles": {"p50": 0.00003},
        "statusCodeDistribution": {"200": 50000}, "errorDistribution": {"aborted due to deadline": 1}}"#;

    #[test]
    fn reads_pages_their_rate_and_their_median() {
        let report = read(REPORT, &ask(Work::Hello)).unwrap();
        assert_eq!((report.n_requests, report.rate_per_s), (50_000, 50_000.5));
        assert!((report.p50_us.unwrap() - 30.0).abs() < 1e-9);
    }

    #[test]
    fn believes_no_report_with_failures() {
        for failed in [
            REPORT.replace(": 1}", ": 2}"),
            REPORT.replace("aborted due to deadline", "connection refused"),
            REPORT.replace("\"200\"", "\"404\""),
        ] {
            assert!(read(&failed, &ask(Work::Hello)).is_err(), "{failed}");
        }
        assert!(read("", &ask(Work::Hello)).is_err());
    }
}
