//! Tests a supervised program from inside: the results that it gets from the kernel, plain and moved.
//!
//! The tests start this program again: as the supervisor, and as the program that is supervised. So it has its own
//! `main`. Servers are threads of the test that listen on TCP and on a socket, and report over which transport a client
//! connected.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    clippy::disallowed_methods,
    clippy::undocumented_unsafe_blocks,
    reason = "these are tests, though without #[test]; what is called is what the kernel offers"
)]

mod changes;
mod client;
mod deaths;
mod likeness;
mod oracle;
mod parent;
mod programs;
mod raw;
mod refusals;
mod server;
mod storms;
mod supervise;
mod tree;

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("supervise") => supervise::main(&words[1..]),
        Some("client") => client::main(&words[1..]),
        Some("measure") => programs::measure(&words[1..]),
        Some("oracle") => oracle::main(&words[1..]),
        Some("program") => oracle::program(&words[1..]),
        Some("threaded") => oracle::threaded(&words[1..]),
        _ => run(),
    }
}

/// Runs the tests. If the accounts that some tests use could not execute this program, runs them from a copy of it.
fn run() -> ExitCode {
    let own = std::env::current_exe().unwrap();
    let open = looptax_testkit::programs::for_everybody(&own);
    if open == own {
        return libtest_mimic::run(&Arguments::from_args(), trials()).exit_code();
    }
    let status = Command::new(open).args(std::env::args_os().skip(1)).status().unwrap();
    ExitCode::from(status.code().and_then(|it| u8::try_from(it).ok()).unwrap_or(1))
}

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    trials.extend(likeness::trials());
    trials.extend(refusals::trials());
    trials.extend(changes::trials());
    trials.extend(tree::trials());
    trials.extend(deaths::trials());
    trials.extend(parent::trials());
    trials.extend(programs::trials());
    trials.extend(oracle::trials());
    trials.extend(storms::trials());
    trials
}

fn trial(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}
