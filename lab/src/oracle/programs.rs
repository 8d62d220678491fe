//! Random programs that use sockets, directly over TCP and under `looptax run`. The tests of the redirect compare their
//! results; this oracle runs these tests with many programs.

use anyhow::Result;

use crate::workspace::{self, run_cargo};

/// The options of this oracle.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How many programs
    #[arg(long, default_value_t = 10_000)]
    programs: u64,
    /// How many programs of two or three threads, with looptax's own queues and with the runtimes of `clients/setup.sh`
    #[arg(long, default_value_t = 5_000)]
    threaded: u64,
    /// Repeat the programs of an earlier run
    #[arg(long, default_value_t = 18)]
    seed: u64,
    /// Print the table of the known differences, and stop
    #[arg(long)]
    table: bool,
}

/// Runs the tests. An undocumented difference is a failure; the program is printed.
pub(super) fn run(options: &Options) -> Result<()> {
    let [programs, threaded, seed] = [options.programs, options.threaded, options.seed].map(|it| it.to_string());
    let others = workspace::root()?.join("clients/run").display().to_string();
    let mut args =
        "test --quiet --locked --package looptax-redirect --test it -- oracle".split(' ').collect::<Vec<_>>();
    args.extend(["--programs", &programs, "--threaded", &threaded, "--seed", &seed, "--others", &others]);
    if options.table {
        args.push("--table");
    }
    run_cargo(&args)
}
