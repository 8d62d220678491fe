//! Checks which tests could not run on this machine, and whether that is allowed: the last step of `cargo xtask check`.
//!
//! Tests write why they are skipped to the file that an environment variable names, with `looptax_testkit::skips`.
//! tests/skips.toml lists the tests that may be skipped.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::workspace::{metadata, root};

/// Has to be the same as `looptax_testkit::skips::FILE_VARIABLE`.
pub(crate) const FILE_VARIABLE: &str = "LOOPTAX_SKIPPED_TESTS";

/// The number of tests that have passed in this process; it is printed together with the skipped tests.
static N_PASSED: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn note_passed(n: usize) {
    N_PASSED.fetch_add(n, Ordering::Relaxed);
}

/// The known reasons for which a test may be skipped.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    skip: Vec<Skip>,
}

/// A reason to skip a test; a `*` at its end matches any text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Skip {
    reason: String,
    #[allow(dead_code, reason = "read by people; here only held to be there")]
    because: String,
}

/// Makes an empty file, to which tests write why they are skipped.
pub(crate) fn fresh_file() -> Result<PathBuf> {
    let path = file()?;
    fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Prints how many tests the last run skipped for each reason; fails if a reason is not in tests/skips.toml.
pub(crate) fn judge() -> Result<()> {
    let path = file()?;
    let noted = fs::read_to_string(&path);
    let noted = noted.with_context(|| format!("cannot read {}", path.display()))?;
    let known = known(&fs::read_to_string(root()?.join("tests/skips.toml"))?)?;
    let counts = counts(&noted);
    for (why, n_tests) in &counts {
        println!("{n_tests} skipped: {why}");
    }
    let n_skipped: usize = counts.values().sum();
    match N_PASSED.load(Ordering::Relaxed) {
        0 => {}
        n_passed => println!("{n_passed} passed, 0 failed, {n_skipped} skipped"),
    }
    let unknown = counts.keys().filter(|why| !known.may_skip(why));
    let unknown: Vec<&str> = unknown.copied().collect();
    if !unknown.is_empty() {
        bail!(
            "tests were skipped for reasons that tests/skips.toml does not list: {}; \
             `scripts/setup.sh test` installs what they need",
            unknown.join(", ")
        );
    }
    Ok(())
}

impl Known {
    fn may_skip(&self, why: &str) -> bool {
        self.skip.iter().any(|it| match it.reason.strip_suffix('*') {
            Some(start) => why.starts_with(start),
            None => why == it.reason,
        })
    }
}

fn known(text: &str) -> Result<Known> {
    toml::from_str(text).context("tests/skips.toml is invalid")
}

fn file() -> Result<PathBuf> {
    let folder = metadata()?.target_directory.into_std_path_buf();
    Ok(folder.join("skipped-tests"))
}

/// Returns the number of tests for each reason. A line of the file has the reason, a tab, and the test.
fn counts(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for why in text.lines().filter_map(|line| line.split('\t').next()) {
        *counts.entry(why).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_tests_by_their_reason() {
        let text = "mysql is not installed\tone\nneeds root\ttwo\nmysql is not installed\tthree\n";
        let found: Vec<_> = counts(text).into_iter().collect();
        assert_eq!(found, [("mysql is not installed", 2), ("needs root", 1)]);
        assert!(counts("").is_empty());
    }

    /// If the set-up loses a server, the check must fail; MySQL, Valkey and WordPress are not part of the set-up.
    #[test]
    fn lets_through_what_set_up_does_not_install_and_nothing_else() {
        let known = known(include_str!("../../tests/skips.toml")).unwrap();
        for (why, may_skip) in [
            ("mysql is not installed", true),
            ("valkey is not installed", true),
            ("WordPress is not installed; looked for /usr/share/wordpress", true),
            ("needs root", true),
            ("mariadb is not installed", false),
            ("postgres is not installed", false),
            ("redis is not installed", false),
            ("memcached is not installed", false),
            ("haproxy is not installed", false),
            ("nft is not installed", false),
            ("needs root and more", false),
            ("", false),
        ] {
            assert_eq!(known.may_skip(why), may_skip, "{why}");
        }
    }

    #[test]
    fn a_reason_has_to_say_why() {
        assert!(known("[[skip]]\nreason = 'it rains'").is_err());
    }
}
