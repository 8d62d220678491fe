//! Reads files that any user may have written, up to a size limit.
//!
//! Called by the code that searches files and processes for connections.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use looptax_host::{View, read};

/// The maximum number of names that are read from a folder; the names show which application a `.env` belongs to.
const MOST_NAMES: usize = 4096;
/// The maximum number of bytes that are read: one more than the largest configuration, so that a longer file is
/// noticed.
const MOST_BYTES: u64 = (1 << 20) + 1;

#[derive(Debug, Clone, Copy)]
pub(super) enum Files<'a> {
    Ours,
    /// Files as a process sees them, and only those that the process's user may read.
    Of(&'a View),
}

impl Files<'_> {
    /// Reads a file up to the size limit.
    pub(super) fn read(self, path: &Path) -> io::Result<Vec<u8>> {
        bytes_of(self.open(path)?)
    }

    /// Reads a file if the user `owner` or root owns it; returns `None` for a file of any other user.
    pub(super) fn read_if_of(self, owner: u32, path: &Path) -> Option<Vec<u8>> {
        let file = self.open(path).ok()?;
        let uid = file.metadata().ok()?.uid();
        if uid == 0 || uid == owner { bytes_of(file).ok() } else { None }
    }

    /// Returns the file's owner; `None` if the file cannot be opened.
    pub(super) fn owner(self, path: &Path) -> Option<u32> {
        Some(self.open(path).ok()?.metadata().ok()?.uid())
    }

    fn open(self, path: &Path) -> io::Result<File> {
        match self {
            Self::Ours => read::open(path),
            Self::Of(view) => view.open(path),
        }
    }

    /// Whether a path leads to a regular file.
    pub(super) fn has(self, path: &Path) -> bool {
        match self {
            Self::Ours => read::is_file(path),
            Self::Of(view) => view.is_file(path),
        }
    }

    pub(super) fn names(self, folder: &Path) -> Vec<String> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let names: Vec<_> = match self {
            Self::Ours => read::list(folder)
                .unwrap_or_default()
                .into_iter()
                .filter_map(|it| Some(it.file_name()?.to_owned()))
                .collect(),
            Self::Of(view) => view.names(folder).unwrap_or_default(),
        };
        let names = names.into_iter().take(MOST_NAMES);
        names.map(|it| it.to_string_lossy().into_owned()).collect()
    }
}

fn bytes_of(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
