//! Where switches are kept: a folder each, with the journal, and old and new files.

use std::path::{Path, PathBuf};

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
}
