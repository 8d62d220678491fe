//! `cargo lab oracle`: random cases, and an independent program that decides what is right.

mod accounts;
mod faults;
mod libpq;
mod live;
mod logins;
mod programs;
mod projects;
mod proofs;
mod spellings;

use anyhow::Result;

#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Chore {
    /// Whether `looptax check` is right about random accounts, and its advice removes the problems that it reports
    Accounts(accounts::Options),
    /// Whether a switch, the spool and the processes of `run` keep their promises if any call fails, or no call follows
    /// it
    Faults(faults::Options),
    /// Whether `looptax check` is right about random parameters of libpq, according to libpq 13 to 18
    Libpq(libpq::Options),
    /// Whether a login that `looptax run` moves to the socket has the same result as over TCP, for random PostgreSQL
    /// rules
    Logins(logins::Options),
    /// Whether random programs get the same results under `looptax run` as over TCP
    Programs(programs::Options),
    /// Whether looptax reads files with random settings as the driver does, and its edits lead to the socket
    Spellings(spellings::Options),
    /// Whether `looptax switch` leaves random projects with real applications either moved and proved, or unchanged
    Projects(projects::Options),
    /// Whether `looptax switch` reports "moved, and proved" for random machines if, and only if, that is true
    Proofs(proofs::Options),
}

pub(crate) fn run(chore: &Chore) -> Result<()> {
    match chore {
        Chore::Accounts(options) => accounts::run(options),
        Chore::Faults(options) => faults::run(options),
        Chore::Libpq(options) => libpq::run(options),
        Chore::Logins(options) => logins::run(options),
        Chore::Programs(options) => programs::run(options),
        Chore::Spellings(options) => spellings::run(options),
        Chore::Projects(options) => projects::run(options),
        Chore::Proofs(options) => proofs::run(options),
    }
}
