//! How many tests could not run on this machine, and why: the last lines of `cargo xtask check`.
//!
//! The tests write them into a file that they are told of; `looptax_testkit::skips` is the other end.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{cargo, metadata, run_to_success};

/// What `looptax_testkit::skips::FILE_VARIABLE` says, too.
const FILE_VARIABLE: &str = "LOOPTAX_SKIPPED_TESTS";

/// Runs cargo with its output shown; the tests that it runs note what they skip.
pub(crate) fn run_noting(args: &[&str]) -> Result<()> {
    let path = file()?;
    fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut command: Command = cargo(args)?;
    run_to_success(command.env(FILE_VARIABLE, path))
}

/// What was noted last, a line for each reason.
pub(crate) fn summary() -> Result<Vec<String>> {
    let path = file()?;
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(lines(&text))
}

fn file() -> Result<PathBuf> {
    let folder = metadata()?.target_directory.into_std_path_buf();
    Ok(folder.join("skipped-tests"))
}

/// A line of the file is the reason, a tab, and the test.
fn lines(text: &str) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for why in text.lines().filter_map(|line| line.split('\t').next()) {
        *counts.entry(why).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(why, n_tests)| match n_tests {
            1 => format!("1 test skipped: {why}"),
            _ => format!("{n_tests} tests skipped: {why}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_tests_by_their_reason() {
        let text = "mysql is not installed\tone\nneeds root\ttwo\nmysql is not installed\tthree\n";
        let wanted = [
            "2 tests skipped: mysql is not installed",
            "1 test skipped: needs root",
        ];
        assert_eq!(lines(text), wanted);
        assert!(lines("").is_empty());
    }
}
