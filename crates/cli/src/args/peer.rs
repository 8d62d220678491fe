//! The option `--trust-peer` of every command that logs in.

use clap::Args;

use super::{Cli, Command};

/// The option `--trust-peer`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PeerArgs {
    /// Also log in to servers whose process cannot be verified.
    ///
    /// Without this option looptax sends a password only to a process of root, of your account, or of a server under a
    /// system account. With this option looptax logs in to any process that answers; that process may then learn the
    /// password.
    #[arg(hide_short_help = true, long = "trust-peer")]
    trusts_peer: bool,
}

impl Cli {
    pub(crate) fn trusts_peer(&self) -> bool {
        let args = match &self.command {
            Some(Command::Compare(args)) => Some(&args.peer),
            Some(Command::Why(args)) => Some(&args.compare.peer),
            Some(Command::Check(args)) => Some(&args.peer),
            Some(Command::Switch(args)) => Some(&args.peer),
            Some(Command::Run(args)) => Some(&args.moving.peer),
            Some(Command::Trial(args)) => Some(&args.moving.peer),
            Some(Command::Fleet(args)) => Some(&args.command.collector().peer),
            None | Some(_) => None,
        };
        args.is_some_and(|it| it.trusts_peer)
    }
}
