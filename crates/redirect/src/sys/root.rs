//! Compares files at a path for a process that may have another root or other mounts.

use std::io;
use std::path::{Path, PathBuf};

use looptax_host::{FileId, View, Viewer, kernel, read};

/// A root, and the mounts below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    at: FileId,
    mounts: PathBuf,
}

impl Root {
    /// Returns our own root.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub(crate) fn own() -> io::Result<Self> {
        Self::of("/proc/self")
    }

    fn of(process: &str) -> io::Result<Self> {
        Ok(Self {
            at: file(Path::new(&format!("{process}/root")))?,
            mounts: kernel::link(format!("{process}/ns/mnt"))?,
        })
    }

    /// Returns whether a thread has the same root.
    ///
    /// # Errors
    /// If we may not inspect the thread.
    pub(crate) fn is_that_of(&self, tid: i32) -> io::Result<bool> {
        Ok(Self::of(&format!("/proc/{tid}"))? == *self)
    }
}

/// Returns whether a thread with another root sees the same file at an absolute path as we do. The path is resolved as
/// for that thread, including symbolic links.
///
/// # Errors
/// If we may not inspect the thread, or if it sees no file at the path.
pub(crate) fn is_same_file(tid: i32, path: &Path) -> io::Result<bool> {
    // The file is compared, not read. A process that may inspect the thread may know the result.
    let view = View::of_process(tid.cast_unsigned(), Viewer::root())?;
    let its = view.look(path)?.ok_or(io::ErrorKind::NotFound)?;
    Ok(FileId::from(&its) == file(path)?)
}

fn file(path: &Path) -> io::Result<FileId> {
    let found = read::look(path)?.ok_or(io::ErrorKind::NotFound)?;
    Ok(FileId::from(&found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::own_pid;

    #[test]
    fn we_see_what_we_see() {
        let own = Root::own().unwrap();
        let path = Path::new("/proc/version");
        assert!(own.is_that_of(own_pid()).unwrap());
        assert!(is_same_file(own_pid(), path).unwrap());
    }
}
