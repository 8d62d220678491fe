//! `cargo xtask spelling`: words of all files, by `typos` and the rules of typos.toml, where it is installed.
//!
//! A step of `cargo xtask check`; the program comes by `cargo install --locked typos-cli` or `pip install typos`.

use std::process::Command;

use anyhow::Result;

use crate::workspace::{root, run_to_success};

/// Fails on a misspelt word; without typos it prints that nothing was checked.
pub(crate) fn run() -> Result<()> {
    if Command::new("typos").arg("--version").output().is_err() {
        println!("typos is not installed: spelling was not checked");
        return Ok(());
    }
    run_to_success(Command::new("typos").args(["--format", "brief"]).current_dir(root()?))
}
