//! The facilities that private servers need to start.

use std::io;
use std::path::PathBuf;

use crate::servers::Reaper;
use looptax_model::failure::Failure;

use crate::arms::Machine;

/// Asks a person for a server's password. The argument is the name under which the server is shown. `None` if no person
/// can answer.
pub type AskPassword = fn(&str) -> Option<io::Result<String>>;

/// For runs in which no person can answer.
pub fn ask_nobody(_shown: &str) -> Option<io::Result<String>> {
    None
}

/// The surroundings of private servers: helpers, folder and reaper.
pub struct Host {
    /// The program from which the servers' helpers are started.
    pub self_exe: PathBuf,
    /// The folder for scratch folders.
    pub scratch_root: PathBuf,
    /// Stops servers after this process has ended.
    pub reaper: Reaper,
    pub(super) machine: Machine,
    pub(super) ask: AskPassword,
}

impl Host {
    /// Finds looptax's own file, starts the reaper, cleans up after a crashed run.
    pub fn new(machine: Machine, ask: AskPassword) -> Result<Self, Failure> {
        let self_exe = std::env::current_exe()?;
        let scratch_root = looptax_host::own::temporary();
        crate::servers::leftovers::sweep(&scratch_root);
        let reaper = Reaper::start(&self_exe)?;
        Ok(Self { self_exe, scratch_root, reaper, machine, ask })
    }
}
