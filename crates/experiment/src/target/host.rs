//! The facilities of this machine that are needed to start private servers.

use std::io;
use std::path::PathBuf;

use crate::servers::Reaper;
use looptax_model::failure::Failure;

use crate::arms::Machine;

/// A function that asks the user for a server's password. The argument is the server's name as it is shown. `None` if
/// no user can answer.
pub type AskPassword = fn(&str) -> Option<io::Result<String>>;

/// The [`AskPassword`] for runs in which no user can answer.
pub fn ask_nobody(_shown: &str) -> Option<io::Result<String>> {
    None
}

/// The means with which private servers are started.
pub struct Host {
    /// The path of the looptax program, from which the servers' helper processes are started.
    pub self_exe: PathBuf,
    /// The folder in which scratch folders are made.
    pub scratch_root: PathBuf,
    /// The reaper, which stops servers after this process has ended.
    pub reaper: Reaper,
    pub(super) machine: Machine,
    pub(super) ask: AskPassword,
}

impl Host {
    /// Finds the path of the looptax program, starts the reaper, and cleans up after crashed runs.
    pub fn new(machine: Machine, ask: AskPassword) -> Result<Self, Failure> {
        let self_exe = std::env::current_exe()?;
        let scratch_root = looptax_host::own::temporary();
        crate::servers::leftovers::sweep(&scratch_root);
        let reaper = Reaper::start(&self_exe)?;
        Ok(Self { self_exe, scratch_root, reaper, machine, ask })
    }
}
