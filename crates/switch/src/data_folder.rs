//! The place of switches: a folder each, with the journal, and old and new files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use looptax_host::{Folder, own};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::SwitchError;

/// The process that carries out a switch holds it.
const LOCK: &str = "lock";

/// The folder of all switches: it is private, since configuration files hold passwords. It is trusted only if it and
/// its contents belong to the caller.
#[derive(Debug, Clone)]
pub struct Kept {
    pub(crate) folder: PathBuf,
}

impl Kept {
    /// Those of a data folder, `$XDG_DATA_HOME/looptax`. Makes nothing.
    pub fn in_data_folder(data: &Path) -> Self {
        Self { folder: data.join("switches") }
    }

    /// The folder, held.
    ///
    /// # Errors
    /// That it is not there, or not the caller's own.
    pub(crate) fn open(&self) -> io::Result<Folder> {
        own::folder(&self.folder)
    }

    /// The same, made if it is missing.
    pub(crate) fn make(&self) -> Result<Folder, SwitchError> {
        own::make_folder(&self.folder).map_err(|source| SwitchError::Journal { path: self.folder.clone(), source })
    }

    /// Whether another switch of this user is under way: its logins and ours would look like the application's.
    pub fn is_busy(&self) -> bool {
        let opened = self.open().and_then(|folder| folder.open_own(LOCK));
        opened.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK))
    }

    /// Has others wait for the end of this switch; held as long as the file is.
    pub(crate) fn lock(&self) -> Result<File, SwitchError> {
        let file = self.make()?.open_or_create_own(LOCK);
        let file = file.map_err(|source| SwitchError::Journal { path: self.folder.clone(), source })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(SwitchError::Busy { id: "another switch".to_owned() }),
            // A file system without locks has them all free.
            _ => Ok(file),
        }
    }
}
