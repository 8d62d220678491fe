//! `cargo xtask web`: the report page's script and style, built from web/ into crates/report/assets.
//!
//! The built assets are checked in, so that building looptax needs no Node. Whether they belong to their sources is
//! checked by hashes alone, without Node, as part of `cargo xtask check`.

mod big;
mod figures;
mod stale;

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::workspace::{root, run_to_success};

/// Options of `web`.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only compare hashes, and fail when the assets are stale; needs no Node
    #[arg(long, conflicts_with_all = ["browser", "figures", "screenshots"])]
    check: bool,
    /// The page in a real browser: console, requests, marks, keyboard, axe, paper
    #[arg(long)]
    browser: bool,
    /// How long a large record takes to become a page and to open, and what memory that needs
    #[arg(long)]
    figures: bool,
    /// Write docs/src/images/report.png from this record
    #[arg(long, value_name = "RECORD")]
    screenshots: Option<PathBuf>,
}

/// Builds the assets, or does what is asked for with them.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.check {
        return check();
    }
    if options.browser {
        return browser();
    }
    if options.figures {
        install()?;
        return figures::run();
    }
    if let Some(record) = &options.screenshots {
        install()?;
        return figures::screenshots(record);
    }
    install()?;
    for script in ["format", "types"] {
        let mut npm = Command::new("npm");
        run_to_success(npm.args(["run", "--silent", script]).current_dir(folder()?))?;
    }
    run_to_success(Command::new("node").arg("build.mjs").current_dir(folder()?))?;
    stale::write(&root()?)
}

/// Fails when the assets are not those of their sources.
pub(crate) fn check() -> Result<()> {
    stale::check(&root()?)
}

/// Runs the tests in a browser on pages of records made for them.
pub(crate) fn browser() -> Result<()> {
    install()?;
    let pages = figures::pages()?;
    let mut command = Command::new("node");
    command
        .args(["--test", "test/page.test.mjs"])
        .current_dir(folder()?);
    run_to_success(command.env("LOOPTAX_PAGES", pages.path()))
}

/// The packages as the lock file says, without their scripts.
fn install() -> Result<()> {
    let args = [
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel",
        "error",
    ];
    run_to_success(Command::new("npm").args(args).current_dir(folder()?))
}

fn folder() -> Result<PathBuf> {
    Ok(root()?.join("web"))
}
