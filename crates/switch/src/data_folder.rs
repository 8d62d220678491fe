//! Where switches are kept: a folder each, with the journal, and old and new files.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::SwitchError;

/// Held by whoever carries a switch out.
const LOCK: &str = "lock";

/// The folder of all switches: it is private, since configuration files hold passwords.
#[derive(Debug, Clone)]
pub struct Kept {
    pub(crate) folder: PathBuf,
}

impl Kept {
    /// Those of a data folder, `$XDG_DATA_HOME/looptax`. Makes nothing.
    pub fn in_data_folder(data: &Path) -> Self {
        Self {
            folder: data.join("switches"),
        }
    }

    pub(crate) fn folder_of(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    /// Whether another switch of this user is under way: its logins and ours would look like the application's.
    pub fn is_busy(&self) -> bool {
        let opened = File::open(self.folder.join(LOCK));
        opened.is_ok_and(|file| {
            flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
        })
    }

    /// Has others wait for the end of this switch; held as long as the file is.
    pub(crate) fn lock(&self) -> Result<File, SwitchError> {
        let failed = |source: io::Error| SwitchError::Journal {
            path: self.folder.clone(),
            source,
        };
        let made = DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&self.folder);
        made.map_err(failed)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.folder.join(LOCK)).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(SwitchError::Busy {
                id: "another switch".to_owned(),
            }),
            // A file system without locks has them all free.
            _ => Ok(file),
        }
    }
}
