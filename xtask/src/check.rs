//! `cargo xtask check`: everything that has to hold before a commit.
//!
//! The quick steps that need no build come first. CI runs exactly this through `make test`, which
//! then prints some figures beside those of other load generators; nothing is checked only there.

use std::process::Command;

use anyhow::Result;

use crate::steps::Step;
use crate::workspace::{cargo, root, run_cargo, run_to_success};
use crate::{arrows, docs, licences, schema, skips, steps, tidy, web};

const STEPS: &[Step] = &[
    Step {
        name: "format",
        repeat: "cargo fmt --all --check",
        work: || run_cargo(&["fmt", "--all", "--check"]),
    },
    Step {
        name: "tidy",
        repeat: "cargo xtask tidy",
        work: tidy::run,
    },
    Step {
        name: "arrows",
        repeat: "cargo xtask arrows",
        work: arrows::run,
    },
    Step {
        name: "licences",
        repeat: "cargo xtask licences",
        work: licences::run,
    },
    Step {
        name: "web",
        repeat: "cargo xtask web --check",
        work: || web::run(true),
    },
    Step {
        name: "cargo-deny",
        repeat: "cargo deny check",
        work: deny,
    },
    Step {
        name: "clippy",
        repeat: "cargo clippy --workspace --all-targets --locked -- -D warnings",
        work: || {
            run_cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ])
        },
    },
    Step {
        name: "tests",
        repeat: "cargo test --workspace --locked",
        work: || skips::run_noting(&["test", "--workspace", "--locked"]),
    },
    Step {
        name: "rustdoc",
        repeat: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --locked",
        work: rustdoc,
    },
    Step {
        name: "docs",
        repeat: "cargo xtask docs",
        work: || docs::run(true),
    },
    Step {
        name: "book",
        repeat: "mdbook build docs",
        work: book,
    },
    Step {
        name: "schema",
        repeat: "cargo xtask schema",
        work: || schema::run(true),
    },
];

/// Runs all steps; the last lines say which tests could not run here.
pub(crate) fn run() -> Result<()> {
    steps::run(STEPS)?;
    for line in skips::summary()? {
        println!("== {line}");
    }
    Ok(())
}

fn rustdoc() -> Result<()> {
    let args = [
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
        "--locked",
    ];
    run_to_success(cargo(&args)?.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds the book where mdBook is installed, and says where it is not; `tidy` checks links either way.
fn book() -> Result<()> {
    if Command::new("mdbook").arg("--version").output().is_err() {
        println!("mdbook is not installed: the book was not built; its links were checked by tidy");
        return Ok(());
    }
    run_to_success(
        Command::new("mdbook")
            .args(["build", "docs"])
            .current_dir(root()?),
    )
}

/// What only cargo-deny can do is done where it is installed, and its absence is said.
fn deny() -> Result<()> {
    if !is_quiet_success(&["deny", "--version"])? {
        println!(
            "cargo-deny is not installed: licences, bans and sources were checked by xtask only, \
             advisories not at all"
        );
        return Ok(());
    }
    run_cargo(&["deny", "--locked", "check", "licenses", "bans", "sources"])?;
    if is_quiet_success(&["deny", "--locked", "fetch", "db"])? {
        run_cargo(&["deny", "--locked", "check", "advisories", "--disable-fetch"])
    } else {
        println!("the advisory database cannot be reached: advisories were not checked");
        Ok(())
    }
}

fn is_quiet_success(args: &[&str]) -> Result<bool> {
    Ok(cargo(args)?.output()?.status.success())
}
