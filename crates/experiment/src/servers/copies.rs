//! A folder for private copies of files that the programs of a trial read. The folder is removed when the trial ends.
//!
//! The folder is a scratch folder like the folder of a private server: it is locked, watched by the reaper, and removed
//! after a crash. Called by cli.

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

    /// Makes a subfolder that only the owner can open.
    ///
    /// # Errors
    /// [`ServerError::Scratch`].
    pub fn make_folder(&self, name: &str) -> Result<(), ServerError> {
        self.scratch.create_folder(name).map(drop)
    }

    /// Allows a group to enter the folder, but not to list it: the group can open the files that it may read, such as a
    /// socket.
    ///
    /// # Errors
    /// [`ServerError::Scratch`].
    pub fn let_enter(&self, group: u32) -> Result<(), ServerError> {
        self.scratch.let_enter(group)
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// [`ServerError::Scratch`]; in this case the reaper tries again.
    pub fn remove(mut self) -> Result<(), ServerError> {
        self.scratch.remove()
    }
}
