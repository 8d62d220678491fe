//! A folder for private copies of files, which the programs of a trial read. It is removed when the trial ends.
//!
//! It is a scratch folder like that of a private server: locked, watched by the reaper, removed after a crash. Called
//! by cli.

use std::path::PathBuf;

use crate::servers::scratch::Scratch;
use crate::servers::{Reaper, ServerError, leftovers};

/// A folder that only its owner can change; it is removed with its content when this value is dropped.
#[derive(Debug)]
pub struct CopyFolder {
    scratch: Scratch,
}

impl CopyFolder {
    /// Makes the folder; call it while the process has no other thread.
    ///
    /// # Errors
    /// The folder cannot be made, or the reaper does not start.
    pub fn create() -> Result<Self, ServerError> {
        let self_exe = std::env::current_exe();
        let self_exe = self_exe.map_err(|source| ServerError::ReaperStart { program: "looptax".into(), source })?;
        let root = looptax_host::own::temporary();
        leftovers::sweep(&root);
        let reaper = Reaper::start(&self_exe)?;
        Ok(Self { scratch: Scratch::create(&root, None, &reaper)? })
    }

    pub fn path(&self) -> PathBuf {
        self.scratch.path("")
    }

    /// Writes a file that only the owner can read.
    ///
    /// # Errors
    /// [`ServerError::Scratch`].
    pub fn write(&self, name: &str, text: &str) -> Result<(), ServerError> {
        self.scratch.write(name, text).map(drop)
    }

    /// Makes a folder in this one that only the owner can open.
    ///
    /// # Errors
    /// [`ServerError::Scratch`].
    pub fn make_folder(&self, name: &str) -> Result<(), ServerError> {
        self.scratch.create_folder(name).map(drop)
    }

    /// Lets a group enter the folder, but not list it, and open files there that the group may read: a socket.
    ///
    /// # Errors
    /// [`ServerError::Scratch`].
    pub fn let_enter(&self, group: u32) -> Result<(), ServerError> {
        self.scratch.let_enter(group)
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// [`ServerError::Scratch`]; the reaper tries again.
    pub fn remove(mut self) -> Result<(), ServerError> {
        self.scratch.remove()
    }
}
