//! The things that private servers need to start.

use std::io;
use std::path::PathBuf;

use crate::servers::Reaper;
use looptax_model::failure::Failure;

use crate::arms::Machine;

/// Asks a person for the password of a server, which the text shows; `None` if no person can answer.
pub type AskPassword = fn(&str) -> Option<io::Result<String>>;

/// For runs without a person who could answer.
pub fn ask_nobody(_shown: &str) -> Option<io::Result<String>> {
    None
}

/// The surroundings of private servers: who starts them, where, and what stops them.
pub struct Host {
    /// The program that private servers' helpers are started from.
    pub self_exe: PathBuf,
    /// Where scratch folders are made.
    pub scratch_root: PathBuf,
    /// Stops servers after this process has ended.
    pub reaper: Reaper,
    pub(super) machine: Machine,
    pub(super) ask: AskPassword,
}

impl Host {
    /// Finds ourselves, starts the reaper, and clears up after a crashed run.
    pub fn new(machine: Machine, ask: AskPassword) -> Result<Self, Failure> {
        let self_exe = std::env::current_exe()?;
        let scratch_root = looptax_host::own::temporary();
        crate::servers::leftovers::sweep(&scratch_root);
        let reaper = Reaper::start(&self_exe)?;
        Ok(Self { self_exe, scratch_root, reaper, machine, ask })
    }
}
