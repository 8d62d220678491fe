//! The data folder in which all switches are kept. Each switch has a folder with its journal and its old and new files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use looptax_host::{Folder, own};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::SwitchError;

/// The name of the file that the process locks while it carries out a switch.
const LOCK: &str = "lock";

/// The folder of all switches. It is private, because configuration files contain passwords. looptax trusts it only if
/// the folder and its contents belong to the caller.
#[derive(Debug, Clone)]
pub struct Kept {
    pub(crate) folder: PathBuf,
}

impl Kept {
    /// Returns the folder of switches in a data folder, `$XDG_DATA_HOME/looptax`. Creates nothing.
    pub fn in_data_folder(data: &Path) -> Self {
        Self { folder: data.join("switches") }
    }

    /// Opens the folder.
    ///
    /// # Errors
    /// If the folder does not exist, or is not the caller's own.
    pub(crate) fn open(&self) -> io::Result<Folder> {
        own::folder(&self.folder)
    }

    /// Opens the folder as [`Self::open`] does, and creates it if it is missing.
    pub(crate) fn make(&self) -> Result<Folder, SwitchError> {
        own::make_folder(&self.folder).map_err(|source| SwitchError::Journal { path: self.folder.clone(), source })
    }

    /// Whether the same user is running another switch. If two switches run at the same time, each would mistake the
    /// other's logins for logins of the application.
    pub fn is_busy(&self) -> bool {
        let opened = self.open().and_then(|folder| folder.open_own(LOCK));
        opened.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK))
    }

    /// Locks the folder as long as the returned file is open, so that a second switch fails with [`SwitchError::Busy`].
    pub(crate) fn lock(&self) -> Result<File, SwitchError> {
        let file = self.make()?.open_or_create_own(LOCK);
        let file = file.map_err(|source| SwitchError::Journal { path: self.folder.clone(), source })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(SwitchError::Busy { id: "another switch".to_owned() }),
            // On a file system without locks, every lock counts as free.
            _ => Ok(file),
        }
    }
}
