//! The texts that `looptax dsn` prints for a case. One process prints the texts of all dialects of a kind.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The texts that are printed for one dialect.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) takes_now: String,
    /// The fields that cannot be written in this dialect.
    #[serde(default)]
    pub(crate) cannot: Vec<String>,
}

/// Runs `looptax dsn`; returns the texts of all dialects for the URL's kind.
pub(crate) fn entries(looptax: &Path, url: &str, socket: &Path) -> Result<Vec<Entry>> {
    let mut command = Command::new(looptax);
    command.args(["dsn", url, "--for", "all", "--show-password", "--json", "--socket"]);
    let output = command.arg(socket).output().context("cannot start looptax")?;
    if !output.status.success() {
        bail!("looptax dsn: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("looptax dsn prints no JSON")
}

pub(crate) fn named<'a>(entries: &'a [Entry], name: &str) -> Result<&'a Entry> {
    let found = entries.iter().find(|it| it.name == name);
    found.with_context(|| format!("looptax dsn knows no {name}"))
}
