//! Spliced connections, in processes of their own: bytes, counts, ends, and what is left afterwards.
//!
//! A cgroup holds whole processes, so this program is started again by its own tests as the process that
//! is moved. Hence a main of its own. Where looptax may not splice, as without root, the tests say so and
//! count as ignored.
#![allow(
    clippy::disallowed_methods,
    reason = "tests lay out files and start programs"
)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests, though without #[test]"
)]

mod bpf;
mod bytes;
mod killed;
mod moved;
mod refused;
mod spliced;
mod traffic;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use looptax_path::{Sockmap, SockmapError};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("moved") => moved::main(&words[1..]),
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

fn trials() -> Vec<Trial> {
    let reason = missing();
    if let Some(reason) = &reason {
        eprintln!("skipped: the tests of spliced connections: {reason}");
    }
    let alone = |(name, _): &moved::Deed| {
        let name = *name;
        trial(name, move || {
            moved::Moved::start(&[], &[name]).finish();
        })
    };
    let mut trials: Vec<Trial> = spliced::ALONE
        .iter()
        .chain(bytes::ALONE)
        .map(alone)
        .collect();
    trials.extend(spliced::trials());
    trials.extend(killed::trials());
    trials.extend(refused::trials());
    let ignored = |it: Trial| it.with_ignored_flag(reason.is_some());
    trials.into_iter().map(ignored).collect()
}

/// What this machine does not let anybody do here. Whatever else is in the way fails the tests.
fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("they need root".to_owned());
    }
    let obstacle = Sockmap::obstacle()?;
    let is_forbidden = matches!(
        obstacle,
        SockmapError::NoCgroup { .. }
            | SockmapError::Folder { .. }
            | SockmapError::Rights { .. }
            | SockmapError::Policy { .. }
    );
    is_forbidden.then(|| obstacle.to_string())
}

/// A test of this name.
fn trial(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}
