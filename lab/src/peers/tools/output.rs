//! Parses the output of peers: their versions, and numbers in their reports.

use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// Returns the first line that a program prints when it is asked for its version.
pub(super) fn version_of(program: &str, arg: &str) -> Result<String> {
    let mut command = Command::new(program);
    command.arg(arg);
    let ended = process::run(command)?;
    let line = ended.stdout.lines().next();
    Ok(line.context("it prints no version")?.trim().to_owned())
}

/// Returns the number after `name` up to the next blank or slash, in the line that starts with `name`.
pub(super) fn number_after(report: &str, name: &str) -> Option<f64> {
    let mut lines = report.lines().map(str::trim);
    let rest = lines.find_map(|line| line.strip_prefix(name))?;
    let number = rest.trim_start().split([' ', '/']).next()?;
    number.trim_end().parse().ok()
}

/// Returns a quantile of sorted times; `None` if there are no times.
pub(super) fn quantile(sorted: &[f64], quantile: f64) -> Option<f64> {
    let at = (sorted.len() as f64 * quantile).ceil() as usize;
    sorted.get(at.max(1) - 1).copied()
}
