//! `cargo lab oracle`: random cases, and somebody independent who says what is right.

mod live;
mod logins;

use anyhow::Result;

#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Chore {
    /// Whether a login that `looptax run` moves to the socket ends as over TCP, for random rules of PostgreSQL
    Logins(logins::Options),
}

/// Does one of them.
pub(crate) fn run(chore: &Chore) -> Result<()> {
    match chore {
        Chore::Logins(options) => logins::run(options),
    }
}
