//! `cargo lab web`: tests the report page in a browser, with pages of records that are made for the tests.
//!
//! The scripts that control the browser are in web/test; `cargo xtask web` builds the page's assets.

mod big;
mod figures;
mod folder;
mod why;

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::workspace::run_to_success;
use folder::folder;

/// The commands for the page.
#[derive(clap::Subcommand)]
pub(crate) enum Chore {
    /// Test the page in a real browser: console, requests, marks, keyboard, axe, print
    Browser,
    /// Measure how long a large record takes to become a page and to open, and how much memory that needs
    Figures,
    /// Write docs/src/images/report.png from this record
    Screenshots { record: PathBuf },
}

/// Installs the page's packages, and runs the chore.
pub(crate) fn run(chore: &Chore) -> Result<()> {
    // Installs the packages in the lock file, without running their scripts.
    let mut install = Command::new("npm");
    install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    install.args(["--loglevel", "error"]);
    run_to_success(install.current_dir(folder()?))?;
    match chore {
        Chore::Browser => browser(),
        Chore::Figures => figures::run(),
        Chore::Screenshots { record } => figures::screenshots(record),
    }
}

/// Runs the tests in a browser on pages of records that are made for the tests.
fn browser() -> Result<()> {
    let pages = figures::pages()?;
    let mut command = Command::new("node");
    command.args(["--test", "test/page.test.mjs", "test/flame.test.mjs"]);
    command.env("LOOPTAX_PAGES", pages.path());
    run_to_success(command.current_dir(folder()?))
}
