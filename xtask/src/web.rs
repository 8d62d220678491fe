//! `cargo xtask web`: the report page's script and style, built from web/ into crates/report/assets.
//!
//! The built assets are checked in, so that building looptax needs no Node. Whether they belong to their sources is
//! checked only by hashes, without Node, as part of `cargo xtask check`.

use std::process::Command;

use anyhow::Result;

use crate::stale::PAGE;
use crate::workspace::{root, run_to_success};

/// Builds the assets, or only compares hashes and fails when the assets are stale.
pub(crate) fn run(is_check: bool) -> Result<()> {
    let root = root()?;
    if is_check {
        return PAGE.check(&root);
    }
    for (program, args) in [
        // The packages as the lock file says, without their scripts.
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
