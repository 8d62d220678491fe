//! sockperf: sends one message and waits for one back, over TCP, to its own server.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::output::number_after;
use looptax_model::dsn::Arm;

use crate::peers::tool::{Ask, Effort, Length, Report, Tool};
use crate::peers::work::Work;

pub(crate) const SOCKPERF: Tool = Tool {
    name: "sockperf",
    install: "scripts/setup.sh peers, or apt-get install sockperf",
    version: || super::output::version_of("sockperf", "--version"),
    command,
    read,
    length: Length::Seconds,
    arms: &[Arm::Tcp],
    can_count: false,
    server: Some(server),
};

fn server(port: u16) -> Command {
    let mut command = Command::new("sockperf");
    command.args(["server", "--tcp", "-i", "127.0.0.1"]);
    command.args(["-p", &port.to_string()]);
    command
}

/// Makes the command. It counts whole round trips, as looptax does, and waits in `recvfrom`, with `TCP_NODELAY` set.
fn command(ask: &Ask<'_>) -> Result<Command> {
    let (Work::PingPong { bytes }, Effort::Seconds(seconds)) = (ask.work, ask.effort) else {
        bail!("sockperf does no {}", ask.work.words());
    };
    let mut command = Command::new("sockperf");
    command
        .args(["ping-pong", "--tcp", "--full-rtt", "-i", "127.0.0.1"])
        .args(["-p", &ask.at.port.to_string()])
        .args(["-m", &bytes.to_string()])
        .args(["-t", &seconds.to_string()]);
    Ok(command)
}

/// Reads the part of the report that sockperf calls valid: without warm-up and tail.
fn read(report: &str, _: &Ask<'_>) -> Result<Report> {
    let lines = report.lines().map(|line| line.trim_start_matches("sockperf: "));
    let plain: String = lines.flat_map(|line| [line, "\n"]).collect();
    let valid = plain.lines().find(|line| line.starts_with("[Valid Duration]"));
    let valid = valid.context("sockperf does not report its run")?;
    let value = |name: &str| {
        let rest = valid.split_once(name)?.1;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        rest[..end.unwrap_or(rest.len())].parse::<f64>().ok()
    };
    let seconds = value("RunTime=").context("sockperf prints no time")?;
    let n_requests = value("ReceivedMessages=").context("sockperf counts no messages")?;
    let p50_us = number_after(&plain, "---> percentile 50.000 =");
    Ok(Report {
        n_requests: n_requests as u64,
        rate_per_s: n_requests / seconds,
        rates_1s: Vec::new(),
        p50_us: Some(p50_us.context("sockperf prints no median")?),
        p99_us: number_after(&plain, "---> percentile 99.000 ="),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tool::tests::ask;

    const REPORT: &str =
        "sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=83752; ReceivedMessages=83751
sockperf: [Valid Duration] RunTime=0.500 sec; SentMessages=44460; ReceivedMessages=44459
sockperf: ---> percentile 75.000 =   10.048
sockperf: ---> percentile 50.000 =    9.658
";

    #[test]
    fn reads_the_valid_part_and_the_median() {
        let report = read(REPORT, &ask(Work::PingPong { bytes: 64 })).unwrap();
        assert_eq!((report.n_requests, report.rate_per_s), (44_459, 88_918.0));
        assert_eq!(report.p50_us, Some(9.658));
        assert!(read("", &ask(Work::PingPong { bytes: 64 })).is_err());
    }
}
