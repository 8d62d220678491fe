//! The state of a file at one point in time.

use rustix::fs::Stat;

/// The facts that identify a file. They differ from file to file, and they change when the file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileNow {
    dev: u64,
    pub(super) inode: u64,
    n_bytes: u64,
    changed: (i64, i64),
}

impl From<&Stat> for FileNow {
    fn from(it: &Stat) -> Self {
        Self {
            dev: it.st_dev,
            inode: it.st_ino,
            n_bytes: it.st_size.cast_unsigned(),
            changed: (it.st_ctime, it.st_ctime_nsec.cast_signed()),
        }
    }
}
