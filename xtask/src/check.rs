//! `cargo xtask check`: everything that has to hold before a commit.
//!
//! The quick steps, which need no build, come first, and steps that share a build follow each other. CI runs exactly
//! these steps through `make test`; CI checks nothing else.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::steps::{Step, Work};
use crate::tests::Which;
use crate::workspace::{built, cargo, root, run_to_success};
use crate::{arrows, commands, deny, docs, eyes, licences, prose, skips, spelling, steps, tests, tidy, web};

const STEPS: &[Step] = &[
    Step { name: "format", repeat: "cargo fmt --all --check", work: Work::Cargo },
    Step { name: "tidy", repeat: "cargo xtask tidy", work: Work::Own(tidy::run) },
    Step { name: "prose", repeat: "cargo xtask prose", work: Work::Own(|| prose::run(&[], false)) },
    Step { name: "spelling", repeat: "cargo xtask spelling", work: Work::Own(spelling::run) },
    Step { name: "arrows", repeat: "cargo xtask arrows", work: Work::Own(arrows::run) },
    Step { name: "licences", repeat: "cargo xtask licences", work: Work::Own(licences::run) },
    Step { name: "web", repeat: "cargo xtask web --check", work: Work::Own(|| web::run(true)) },
    Step { name: "programs for the kernel", repeat: "cargo xtask eyes --check", work: Work::Own(|| eyes::run(true)) },
    Step { name: "cargo-deny", repeat: "cargo xtask deny", work: Work::Own(|| deny::run(false)) },
    Step {
        name: "clippy",
        repeat: "cargo clippy --workspace --all-targets --locked -- -D warnings",
        work: Work::Cargo,
    },
    TESTS,
    Step { name: "docs", repeat: "cargo xtask docs", work: Work::Own(|| docs::run(&built("looptax")?)) },
    Step { name: "book", repeat: "mdbook build docs", work: Work::Own(book) },
];

/// Steps that run at the same time, because most of them wait for servers and clocks.
const TOGETHER: &[Step] = &[
    Step {
        name: "rustdoc",
        repeat: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --locked",
        work: Work::Own(rustdoc),
    },
    Step {
        name: "commands of README and book",
        repeat: "cargo xtask docs --run",
        work: Work::Own(|| commands::run(&built("looptax")?, false)),
    },
    Step {
        name: "other load generators (looptax is not optimised here: everything runs, but no figure counts)",
        repeat: "cargo lab peers --short",
        work: LAB,
    },
    Step { name: "attacks on root's looptax", repeat: "cargo lab attacks --short", work: LAB },
    Step {
        name: "files, and how their drivers read them",
        repeat: "cargo lab oracle spellings --short",
        work: Work::Lab { takes_looptax: false },
    },
    Step {
        name: "faults of system calls",
        repeat: "cargo lab oracle faults --short",
        work: Work::Lab { takes_looptax: false },
    },
    Step { name: "versions that are in use", repeat: "cargo lab versions --short", work: LAB },
    Step { name: "changed records", repeat: "cargo lab records --short", work: LAB },
];

/// The last step, so that on a machine without some server all other checks have run before it fails.
const SKIPPED: Step = Step { name: "skipped tests", repeat: "cargo xtask tests", work: Work::Own(skips::judge) };

const LAB: Work = Work::Lab { takes_looptax: true };

const TESTS: Step = Step { name: "tests", repeat: "cargo xtask tests", work: Work::Own(|| tests::run(Which::Short)) };

const ALL_TESTS: Step =
    Step { name: "tests", repeat: "cargo xtask tests --long", work: Work::Own(|| tests::run(Which::All)) };

/// Runs all steps; with `long` also the tests that take long.
pub(crate) fn run(long: bool) -> Result<()> {
    let step = |step: &Step| match step.name {
        "tests" if long => ALL_TESTS,
        _ => *step,
    };
    let begin = Instant::now();
    steps::run(&STEPS.iter().map(step).collect::<Vec<_>>())?;
    steps::run_together(TOGETHER)?;
    steps::run(&[SKIPPED])?;
    let n = STEPS.len() + TOGETHER.len() + 1;
    println!("== all {n} steps are fine, {:.0} s", begin.elapsed().as_secs_f64());
    Ok(())
}

fn rustdoc() -> Result<()> {
    let words = "doc --workspace --no-deps --document-private-items --locked";
    let args: Vec<&str> = words.split(' ').collect();
    run_to_success(cargo(&args)?.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds the book if mdBook is installed; otherwise prints that it is not installed. `tidy` checks the links in any
/// case.
fn book() -> Result<()> {
    let mut command = Command::new("mdbook");
    if command.arg("--version").output().is_err() {
        println!("mdbook is not installed: the book was not built; tidy checked its links");
        return Ok(());
    }
    let mut command = Command::new("mdbook");
    run_to_success(command.args(["build", "docs"]).current_dir(root()?))
}
