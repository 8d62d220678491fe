//! `cargo xtask long`: what takes too long for every commit.
//!
//! Run by `make test-all`. The results belong into docs/src/results with date and machine; nothing here
//! writes them there.

use anyhow::Result;

use crate::clients::moved;
use crate::dialects;
use crate::peers;
use crate::steps::{self, Step};
use crate::web;
use crate::workspace::run_cargo;

const STEPS: &[Step] = &[
    Step {
        name: "drivers connect with what dsn prints",
        repeat: "cargo xtask dialects",
        work: || dialects::run(&dialects::Options::default()),
    },
    Step {
        name: "real clients under looptax run",
        repeat: "cargo xtask clients run",
        work: || moved::run(&moved::Options::default()),
    },
    Step {
        name: "statistics, simulated",
        repeat: "cargo run --release --locked -p looptax-stats --example simulate",
        work: || {
            let args = ["run", "--release", "--locked", "--package", "looptax-stats"];
            run_cargo(&[args.as_slice(), &["--example", "simulate"]].concat())
        },
    },
    Step {
        name: "selfcheck, 100 runs",
        repeat: "looptax selfcheck private:redis --runs 100 --fixed",
        work: || {
            let args = ["run", "--release", "--locked", "--package", "looptax", "--"];
            let selfcheck = ["selfcheck", "private:redis", "--runs", "100", "--fixed"];
            run_cargo(&[args.as_slice(), &selfcheck].concat())
        },
    },
    Step {
        name: "the report page in a browser",
        repeat: "cargo xtask web --browser",
        work: web::browser,
    },
    // The last one: it pins this process to a core.
    Step {
        name: "peers",
        repeat: "cargo xtask peers",
        work: || peers::run(&peers::Options::default()),
    },
];

/// Runs all long steps.
pub(crate) fn run() -> Result<()> {
    steps::run(STEPS)
}
