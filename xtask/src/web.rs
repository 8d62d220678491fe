//! `cargo xtask web`: builds the report page's script and style from web/ into crates/report/assets.
//!
//! The built assets are checked in, so that building looptax needs no Node. `cargo xtask check` compares only hashes to
//! check that the assets were made from the present sources.

use std::process::Command;

use anyhow::Result;

use crate::stale::PAGE;
use crate::workspace::{root, run_to_success};

/// Builds the assets; with `is_check` only compares hashes, and fails if the assets are stale.
pub(crate) fn run(is_check: bool) -> Result<()> {
    let root = root()?;
    if is_check {
        return PAGE.check(&root);
    }
    for (program, args) in [
        // Installs the packages that the lock file lists, without running their scripts.
        ("npm", "ci --ignore-scripts --no-audit --no-fund --loglevel error"),
        ("npm", "run --silent format"),
        ("npm", "run --silent types"),
        ("node", "build.mjs"),
    ] {
        let mut command = Command::new(program);
        command.args(args.split(' ')).current_dir(root.join("web"));
        run_to_success(&mut command)?;
    }
    PAGE.write(&root)
}
