//! `cargo xtask spelling`: checks the spelling in all files with `typos`, by the rules of typos.toml.
//!
//! This is a step of `cargo xtask check`. `scripts/setup.sh test` installs typos in target/typos; otherwise the typos
//! on PATH is used.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace::{root, run_to_success};

/// Fails on a misspelt word. If typos is not installed, fails with CI=true in the environment; otherwise prints that
/// nothing was checked.
pub(crate) fn run() -> Result<()> {
    let folder = env::var_os("LOOPTAX_TYPOS").map_or(root()?.join("target/typos"), PathBuf::from);
    let programs = [folder.join("bin/typos"), "typos".into()];
    let Some(typos) = programs.iter().find(|it| Command::new(it).arg("--version").output().is_ok()) else {
        let missing = "typos is not installed: the spelling was not checked (scripts/setup.sh test installs it)";
        if env::var("CI").is_ok_and(|it| it == "true") {
            bail!(missing);
        }
        println!("{missing}");
        return Ok(());
    };
    run_to_success(Command::new(typos).args(["--format", "brief"]).current_dir(root()?))
}
