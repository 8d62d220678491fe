//! `cargo xtask deny`: runs cargo-deny with the rules of deny.toml, if it is installed.
//!
//! Checking licences, bans and sources is a step of `cargo xtask check`. `licences` checks the same without cargo-deny,
//! since building cargo-deny takes minutes. Advisories need a network and change without a commit, so they are checked
//! only on request.

use anyhow::{Result, bail};

use crate::workspace::{cargo, run_cargo};

/// Checks licences, bans and sources, or only advisories. Without cargo-deny, licences, bans and sources are skipped
/// with a message.
pub(crate) fn run(advisories: bool) -> Result<()> {
    let is_there = cargo(&["deny", "--version"])?.output()?.status.success();
    match (is_there, advisories) {
        (true, false) => run_cargo(&["deny", "--locked", "check", "licenses", "bans", "sources"]),
        (true, true) => run_cargo(&["deny", "--locked", "check", "advisories"]),
        (false, false) => {
            println!("cargo-deny is not installed: only `cargo xtask licences` checked licences, bans and sources");
            Ok(())
        }
        (false, true) => bail!("cargo-deny is not installed: cargo install --locked cargo-deny"),
    }
}
