//! The system calls at which a fault can occur, and the errors that each call can return.

use libc::{EACCES, EBUSY, EDQUOT, EINTR, EINVAL, EIO, EMFILE, ENOLCK, ENOSPC, EPERM, EROFS, c_long};

use super::trace::{Call, Fate};

/// Whether a call changes the contents of the disk, or only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Changes,
    Looks,
}
use Kind::{Changes, Looks};

/// The calls with number, name and errors, from section 2 of the man pages. `open` is handled separately.
const CALLS: [(c_long, &str, Kind, &[i32]); 27] = [
    (libc::SYS_openat, "openat", Looks, &[EIO, EACCES, EMFILE]),
    (libc::SYS_openat2, "openat2", Looks, &[EIO, EACCES, EMFILE]),
    (libc::SYS_read, "read", Looks, &[EIO, EINTR]),
    (libc::SYS_write, "write", Changes, &[ENOSPC, EIO, EDQUOT, EINTR]),
    (libc::SYS_fsync, "fsync", Changes, &[EIO, ENOSPC, EDQUOT]),
    (libc::SYS_fdatasync, "fdatasync", Changes, &[EIO, ENOSPC, EDQUOT]),
    (libc::SYS_renameat, "renameat", Changes, &[EIO, ENOSPC, EROFS, EACCES]),
    (libc::SYS_renameat2, "renameat2", Changes, &[EIO, ENOSPC, EROFS, EACCES, EINVAL]),
    (libc::SYS_linkat, "linkat", Changes, &[EIO, ENOSPC, EROFS, EACCES]),
    (libc::SYS_unlinkat, "unlinkat", Changes, &[EIO, EROFS, EACCES, EBUSY]),
    (libc::SYS_mkdirat, "mkdirat", Changes, &[ENOSPC, EIO, EROFS, EACCES]),
    (libc::SYS_fchmod, "fchmod", Changes, &[EPERM, EIO, EROFS]),
    (libc::SYS_fchown, "fchown", Changes, &[EPERM, EIO, EROFS]),
    (libc::SYS_ftruncate, "ftruncate", Changes, &[EIO]),
    (libc::SYS_fsetxattr, "fsetxattr", Changes, &[ENOSPC, EPERM, EIO, EDQUOT]),
    (libc::SYS_fremovexattr, "fremovexattr", Changes, &[EPERM, EIO]),
    (libc::SYS_fgetxattr, "fgetxattr", Looks, &[EIO]),
    (libc::SYS_flistxattr, "flistxattr", Looks, &[EIO]),
    (libc::SYS_utimensat, "utimensat", Changes, &[EIO, EPERM, EROFS]),
    (libc::SYS_flock, "flock", Looks, &[ENOLCK, EINTR]),
    (libc::SYS_fcntl, "fcntl", Looks, &[EMFILE]),
    (libc::SYS_fstat, "fstat", Looks, &[EIO]),
    (libc::SYS_statx, "statx", Looks, &[EIO, EACCES]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_newfstatat, "fstatat", Looks, &[EIO, EACCES]),
    #[cfg(not(target_arch = "x86_64"))]
    (libc::SYS_fstatat, "fstatat", Looks, &[EIO, EACCES]),
    (libc::SYS_getdents64, "getdents", Looks, &[EIO]),
    (libc::SYS_readlinkat, "readlinkat", Looks, &[EIO, EACCES]),
    (libc::SYS_lseek, "lseek", Looks, &[EIO]),
];
/// The errors of a call that creates a file.
const MAKING: &[i32] = &[ENOSPC, EIO, EDQUOT, EACCES, EROFS, EMFILE];

/// Returns the calls that stop the traced process.
pub(super) fn traced() -> impl Iterator<Item = c_long> {
    CALLS.iter().map(|it| it.0)
}

impl Call {
    fn entry(&self) -> Option<&'static (c_long, &'static str, Kind, &'static [i32])> {
        CALLS.iter().find(|it| it.0 == self.number)
    }

    fn makes(&self) -> bool {
        self.number == libc::SYS_openat && self.args[2] & libc::O_CREAT as u64 != 0
    }

    /// Returns whether a fault can occur at this call. Messages to the user are excluded, and calls that fail only
    /// because of a programming error.
    pub(super) fn counts(&self) -> bool {
        let is_said = self.number == libc::SYS_write && self.args[0] <= 2;
        let is_copy = self.args[1] == libc::F_DUPFD_CLOEXEC as u64;
        !is_said && (self.number != libc::SYS_fcntl || is_copy)
    }

    /// Returns whether this call prints a message to the user.
    pub(super) fn is_said(&self) -> bool {
        self.number == libc::SYS_write && self.args[0] <= 2
    }

    /// Returns whether the disk may have changed after this call. A crash before any other call has the same effect as
    /// a crash before the next call that changes the disk.
    pub(super) fn changes(&self) -> bool {
        self.makes() || self.entry().is_some_and(|it| it.2 == Changes)
    }

    pub(super) fn is_sync(&self) -> bool {
        [libc::SYS_fsync, libc::SYS_fdatasync].contains(&self.number)
    }

    pub(super) fn name(&self) -> &'static str {
        if self.makes() { "openat, making" } else { self.entry().map_or("?", |it| it.1) }
    }

    /// Returns the ways in which this call can fail, the most likely first.
    pub(super) fn fates(&self) -> Vec<Fate> {
        let errors = if self.makes() { MAKING } else { self.entry().map_or(&[][..], |it| it.3) };
        // A `renameat2` without flags works on every file system; and a folder that is in use is not removed.
        let is_plain = self.number == libc::SYS_renameat2 && self.flags == 0;
        let is_of_folder = self.number == libc::SYS_unlinkat && self.args[2] != 0;
        let errors = errors.iter().filter(|it| !(is_plain && **it == EINVAL || is_of_folder && **it == EBUSY));
        let mut fates: Vec<Fate> = errors.map(|it| Fate::Fails(*it)).collect();
        if self.number == libc::SYS_write && self.args[2] > 1 {
            fates.push(Fate::IsShort);
        }
        fates
    }
}
