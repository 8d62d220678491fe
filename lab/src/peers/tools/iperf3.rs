//! iperf3: sends bytes in one direction over TCP, to its own server.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use looptax_model::dsn::Arm;

use crate::peers::tool::{Ask, Effort, Length, Report, Tool};
use crate::peers::work::Work;

pub(crate) const IPERF3: Tool = Tool {
    name: "iperf3",
    install: "scripts/setup.sh peers, or apt-get install iperf3",
    version: || super::output::version_of("iperf3", "--version"),
    command,
    read,
    length: Length::Seconds,
    arms: &[Arm::Tcp],
    can_count: false,
    server: Some(server),
};

fn server(port: u16) -> Command {
    let mut command = Command::new("iperf3");
    command.args(["--server", "--bind", "127.0.0.1"]);
    command.args(["--port", &port.to_string()]);
    command
}

fn command(ask: &Ask<'_>) -> Result<Command> {
    let (Work::Stream { write_bytes }, Effort::Seconds(seconds)) = (ask.work, ask.effort) else {
        bail!("iperf3 does no {}", ask.work.words());
    };
    let mut command = Command::new("iperf3");
    command
        .args(["--client", "127.0.0.1", "--json"])
        .args(["--port", &ask.at.port.to_string()])
        .args(["--length", &write_bytes.to_string()])
        .args(["--time", &seconds.to_string()]);
    Ok(command)
}

/// Counts the bytes that arrived, over the time on the receiver's clock.
fn read(report: &str, _: &Ask<'_>) -> Result<Report> {
    let report: Value = serde_json::from_str(report).context("iperf3 prints no JSON")?;
    let sum = &report["end"]["sum_received"];
    let bytes = sum["bytes"].as_u64().context("iperf3 counts no bytes")?;
    let seconds = sum["seconds"].as_f64().context("iperf3 prints no time")?;
    Ok(Report {
        n_requests: bytes,
        rate_per_s: bytes as f64 / seconds,
        rates_1s: Vec::new(),
        p50_us: None,
        p99_us: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tool::tests::ask;

    #[test]
    fn reads_what_arrived() {
        let report = r#"{"end":{"sum_sent":{"bytes":9},"sum_received":{"seconds":2.0,"bytes":8}}}"#;
        let report = read(report, &ask(Work::Stream { write_bytes: 4 })).unwrap();
        assert_eq!((report.n_requests, report.rate_per_s), (8, 4.0));
        assert!(read("{}", &ask(Work::Stream { write_bytes: 4 })).is_err());
    }
}
