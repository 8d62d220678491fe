//! The peers, one file each, with the same members in the same order: version, command, reading.

pub(crate) mod iperf3;
pub(crate) mod pgbench;
pub(crate) mod redis_benchmark;
pub(crate) mod sockperf;
pub(crate) mod sysbench;

use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Deserializer};

use super::tool::Tool;
use crate::process;

/// All of them.
pub(crate) const TOOLS: [&Tool; 5] = [
    &sysbench::SYSBENCH,
    &pgbench::PGBENCH,
    &redis_benchmark::REDIS_BENCHMARK,
    &sockperf::SOCKPERF,
    &iperf3::IPERF3,
];

/// The one that a case names.
pub(super) fn named<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Tool, D::Error> {
    let name = String::deserialize(from)?;
    let tool = TOOLS.into_iter().find(|tool| tool.name == name);
    tool.ok_or_else(|| serde::de::Error::custom(format!("no peer is called `{name}`")))
}

/// The first line that a program prints when asked for its version.
fn version_of(program: &str, arg: &str) -> Result<String> {
    let mut command = Command::new(program);
    command.arg(arg);
    let ended = process::run(command)?;
    let line = ended.stdout.lines().next();
    Ok(line.context("it prints no version")?.trim().to_owned())
}

/// The number after `name` up to the next blank or slash, in the line that starts with it.
fn number_after(report: &str, name: &str) -> Option<f64> {
    let mut lines = report.lines().map(str::trim);
    let rest = lines.find_map(|line| line.strip_prefix(name))?;
    let number = rest.trim_start().split([' ', '/']).next()?;
    number.trim_end().parse().ok()
}
