//! The project's own chores, run as `cargo xtask …`.
//!
//! `make test` and CI run `check`. Each step of `check` is also a separate command, so that a single failure can be
//! repeated. Nothing in this program is shipped, and it uses no room of looptax.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a chore talks to the terminal, says how long it took, and writes what git keeps"
)]

mod arrows;
mod check;
mod circles;
mod commands;
mod deny;
mod docs;
mod eyes;
mod licences;
mod links;
mod long;
mod machines;
mod prose;
mod release;
mod results;
mod size;
mod skips;
mod spelling;
mod stale;
mod steps;
mod tests;
mod tidy;
mod web;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own chores")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check everything that has to hold before a commit, as CI does
    Check {
        /// Also run the long tests, which tests/long.toml lists
        #[arg(long)]
        long: bool,
    },
    /// Run the test programs, several at the same time
    Tests {
        /// Also run the long tests, which tests/long.toml lists
        #[arg(long)]
        long: bool,
    },
    /// Check the rules of style that no lint checks
    Tidy,
    /// Count phrases that have to be read twice, by area; suggest plainer phrases
    Prose {
        /// Also print all phrases of these areas and files
        shown: Vec<String>,
        /// Also print how many phrases each rule finds in each area
        #[arg(long)]
        counts: bool,
    },
    /// Check the spelling with typos, if it is installed
    Spelling,
    /// Print the size of the tree: tracked lines by room, and the largest files, functions and types
    Size,
    /// Check which rooms use which rooms
    Arrows,
    /// Check licences, bans and sources of the dependencies by the rules of deny.toml
    Licences,
    /// Check licences, bans and sources with cargo-deny, if it is installed
    Deny {
        /// Check only for known vulnerabilities; needs a network
        #[arg(long)]
        advisories: bool,
    },
    /// Make the parts of docs/ that come from code and data: options, man pages, completions, schemas, pages of results
    Docs {
        /// Only try the commands of README and book
        #[arg(long)]
        run: bool,
        /// Also try commands that take minutes
        #[arg(long, requires = "run")]
        long: bool,
    },
    /// Build the report page's script and style into crates/report/assets; needs Node
    Web {
        /// Only compare hashes, and fail when the assets are stale; needs no Node
        #[arg(long)]
        check: bool,
    },
    /// Compile the programs for the kernel into crates/host/src/eyes/kernel; needs clang-14, llvm-14 and libbpf-dev
    Eyes {
        /// Only check that the object files match their sources; without clang-14, only by hashes
        #[arg(long)]
        check: bool,
    },
    /// Build every file that a release has, in target/release-artefacts
    Release {
        /// Accept any commit, with or without a tag
        #[arg(long)]
        dry_run: bool,
        /// The folder of the packaging tools, which are installed there if missing; default: target/release-tools
        #[arg(long, value_name = "FOLDER")]
        tools: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let done = match Args::parse().chore {
        Chore::Check { long } => check::run(long),
        Chore::Tests { long: true } => tests::run(tests::Which::All),
        Chore::Tests { long: false } => tests::run(tests::Which::Short),
        Chore::Tidy => tidy::run(),
        Chore::Prose { shown, counts } => prose::run(&shown, counts),
        Chore::Spelling => spelling::run(),
        Chore::Size => size::run(),
        Chore::Arrows => arrows::run(),
        Chore::Licences => licences::run(),
        Chore::Deny { advisories } => deny::run(advisories),
        Chore::Docs { run: true, long, .. } => workspace::looptax().and_then(|it| commands::run(&it, long)),
        Chore::Docs { .. } => workspace::looptax().and_then(|it| docs::run(&it)),
        Chore::Web { check } => web::run(check),
        Chore::Eyes { check } => eyes::run(check),
        Chore::Release { dry_run, tools } => release::run(dry_run, tools),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
