//! What is at a path for somebody who may live under another root, or among other mounts.

use std::ffi::{CString, c_long};
use std::fs;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::new_fd;

/// Which file it is: device and inode.
type File = (u64, u64);

/// A root, and the mounts below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    at: File,
    mounts: PathBuf,
}

impl Root {
    /// Ours.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub(crate) fn own() -> io::Result<Self> {
        Self::of("/proc/self")
    }

    fn of(process: &str) -> io::Result<Self> {
        Ok(Self {
            at: file(Path::new(&format!("{process}/root")))?,
            mounts: fs::read_link(format!("{process}/ns/mnt"))?,
        })
    }

    /// Whether it is a thread's, too.
    ///
    /// # Errors
    /// When we may not look.
    pub(crate) fn is_that_of(&self, tid: i32) -> io::Result<bool> {
        Ok(Self::of(&format!("/proc/{tid}"))? == *self)
    }
}

/// Whether a thread with another root sees the same file at an absolute path as we do: the path is walked
/// as it would walk it, symbolic links included.
///
/// # Errors
/// When we may not look, or the thread sees nothing there.
pub(crate) fn is_same_file(tid: i32, path: &Path) -> io::Result<bool> {
    let its = within(Path::new(&format!("/proc/{tid}/root")), path)?;
    Ok(metadata(&its)? == file(path)?)
}

fn file(path: &Path) -> io::Result<File> {
    fs::metadata(path).map(|it| (it.dev(), it.ino()))
}

fn metadata(fd: &OwnedFd) -> io::Result<File> {
    fs::File::from(fd.try_clone()?)
        .metadata()
        .map(|it| (it.dev(), it.ino()))
}

/// A path from a root that is not ours.
///
/// # Source
/// `openat2(2)`: `RESOLVE_IN_ROOT` makes links that begin with a slash begin at that root.
fn within(root: &Path, path: &Path) -> io::Result<OwnedFd> {
    let root = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(root)?;
    let path = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (libc::O_PATH | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_IN_ROOT;
    // SAFETY: path and structure live during the call, and the size is the structure's own.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            root.as_raw_fd(),
            path.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    };
    new_fd(fd as c_long)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "files in a scratch folder")]
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

    #[test]
    fn links_stay_under_their_root() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("run")).unwrap();
        fs::write(root.path().join("run/x"), "").unwrap();
        std::os::unix::fs::symlink("/run", root.path().join("link")).unwrap();
        let found = within(root.path(), Path::new("/link/x")).unwrap();
        let expected = file(&root.path().join("run/x")).unwrap();
        assert_eq!(metadata(&found).unwrap(), expected);
        assert!(within(root.path(), Path::new("/../../proc/version")).is_err());
    }
}
