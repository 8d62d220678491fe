//! Determines which other users may write in a folder. Every user except root and the caller is called a stranger.

use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::Stat;
use rustix::process::{getegid, geteuid};

use crate::user::{self, is_first_namespace};

/// The uid that the kernel reports for an owner who has no number in this user namespace.
const OVERFLOW: u32 = 65534;

/// A user or group, other than root and the caller, that may write in a folder and can therefore put any file under any
/// name into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    pub path: PathBuf,
    pub owner: u32,
    pub mode: u32,
    /// Whether root or the caller owns the folder, but the folder's permission bits let other users write in it.
    pub is_by_mode: bool,
}

impl Stranger {
    /// Whether the sticky bit of the folder protects a file of this owner: root or the caller owns the file, so other
    /// users cannot move or remove it.
    pub(crate) fn is_kept_from(&self, owner: u32) -> bool {
        self.is_by_mode && self.mode & 0o1000 != 0 && is_ours(owner)
    }
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        if self.is_by_mode {
            write!(f, "other users may write to `{path}` (mode {:o})", self.mode)
        } else {
            write!(f, "`{path}` belongs to user {}", self.owner)
        }
    }
}

/// The file or folder that users other than root can change, and the reason why they can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distrust {
    /// The path, with all links up to it resolved.
    pub path: PathBuf,
    pub why: Why,
}

/// The reason why users other than root can change a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Owner(u32),
    Group(u32),
    Everybody,
    /// The file system is mounted with `nosuid`; the owners of its files may be another machine's users.
    Mount,
    /// The path leads to something other than a file, a folder or a link.
    Kind,
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.why {
            Why::Owner(uid) => write!(f, "{path}, which belongs to {}", user::shown(uid)),
            Why::Group(gid) => write!(f, "{path}, to which its group {gid} may write"),
            Why::Everybody => write!(f, "{path}, to which every user may write"),
            Why::Mount => {
                write!(f, "{path}, which is on a file system that is mounted with nosuid")
            }
            Why::Kind => write!(f, "{path}, which is not a regular file"),
        }
    }
}

/// Whether a file with this owner belongs to root or the caller.
pub fn is_ours(uid: u32) -> bool {
    // In a user namespace that maps only some users, the machine's root has no number. Therefore an owner without a
    // number counts as root in such a namespace. Other unmapped users have no additional rights.
    static IS_PART: LazyLock<bool> = LazyLock::new(is_part_of_users_mapped);
    uid == 0 || uid == geteuid().as_raw() || uid == OVERFLOW && *IS_PART
}

/// Whether the caller has more rights than its user. True if the caller is root, or has capabilities that are valid
/// outside its own user namespace. Programs that the caller starts could get these rights, too.
pub fn is_privileged() -> bool {
    let has_any = || rustix::thread::capabilities(None).is_ok_and(|it| !it.permitted.is_empty());
    geteuid().is_root() || (is_first_namespace() && has_any())
}

fn is_part_of_users_mapped() -> bool {
    let map = crate::kernel::text("/proc/self/uid_map").unwrap_or_default();
    let n_users: u64 = { map.lines() }.filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok()).sum();
    n_users < u64::from(u32::MAX)
}

/// Returns the user or group, other than root and the caller, that may write in this folder; `None` if there is none.
pub(crate) fn stranger_in(folder: BorrowedFd<'_>, stat: &Stat, path: &Path) -> Option<Stranger> {
    let is_ours = is_ours(stat.st_uid);
    let by_others = stat.st_mode & 0o002 != 0;
    let by_group = stat.st_mode & 0o020 != 0 && !is_own_group(stat.st_gid, folder);
    if is_ours && !by_others && !by_group {
        return None;
    }
    Some(Stranger { path: path.to_owned(), owner: stat.st_uid, mode: stat.st_mode & 0o7777, is_by_mode: is_ours })
}

/// Whether the group's permission bits apply only to root and the caller. This requires that the group has no other
/// members, and that no access list gives these rights to other users.
fn is_own_group(gid: u32, file: BorrowedFd<'_>) -> bool {
    let own = getegid().as_raw();
    // If a group has the same number as a user, only this user is in it: Debian and Fedora create such groups.
    let is_private = gid == own && own == geteuid().as_raw();
    (gid == 0 || is_private) && !has_access_list(file)
}

pub(crate) fn has_access_list(file: BorrowedFd<'_>) -> bool {
    // Attributes cannot be read through a descriptor that was opened with `O_PATH`, but they can be read through the
    // descriptor's link in `/proc`.
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut none: [u8; 0] = [];
    match rustix::fs::getxattr(link, "system.posix_acl_access", &mut none[..]) {
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::NOTSUP) => false,
        Ok(_) | Err(_) => true,
    }
}

/// Whether only root and the caller may write to this file.
pub fn is_writable_by_us_alone(file: BorrowedFd<'_>, stat: &Stat) -> bool {
    stranger_in(file, stat, Path::new("")).is_none()
}
