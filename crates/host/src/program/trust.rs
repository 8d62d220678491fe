//! Checks whether only root can change the file at a path: the file itself, and each folder and link on the path.
//!
//! A [`Walk`] to the path checks each component by its descriptor. The checked file is returned as a descriptor, so no
//! name is looked up twice.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat, StatVfsMountFlags};
use rustix::io::Errno;

use crate::control::{Distrust, Why, has_access_list, is_privileged};
use crate::refusal::{Refusal, refusal};
use crate::user;
use crate::walk::{Last, Links, Walk};

/// Bits in a file's mode. Source: inode(7).
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// The reason why a walk did not reach the end of a path.
#[derive(Debug)]
pub(super) enum Refused {
    /// The kernel's error.
    System(Errno),
    /// Users other than root can change a component of the path.
    Distrust(Distrust),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        match refusal(&error) {
            Some(Refusal::Changeable(why)) => Self::Distrust(why.clone()),
            // The refused link is in `/proc`. Most links there do not contain a path, but lead directly to a process's
            // own files.
            Some(Refusal::Link { at, .. }) => Self::Distrust(Distrust { path: at.clone(), why: Why::Kind }),
            _ => Self::System(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    }
}

/// A file that only root can change, held open.
#[derive(Debug)]
pub(super) struct Held {
    /// The descriptor, opened with `O_PATH`.
    pub(super) fd: OwnedFd,
    pub(super) stat: Stat,
    /// The path of the file, without links.
    pub(super) path: PathBuf,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whether a folder like `/tmp`, in which every user may write but only owners may delete, is accepted if root owns
    /// it. Not set for programs, because a program may load other files from its folder.
    pub(super) sticky_counts: bool,
    /// The process to which `/proc/self` refers. If `None`, all of `/proc` is refused.
    pub(super) own: Option<u32>,
}

/// The users that count as root.
#[derive(Debug, Clone, Copy)]
struct Roots {
    /// The uid that the kernel shows for all users who are not mapped into this user namespace, such as the machine's
    /// root.
    unmapped: Option<u32>,
}

impl Roots {
    fn here() -> Self {
        let unmapped = || std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
        Self { unmapped: (!user::is_first_namespace()).then(unmapped).flatten().and_then(|it| it.trim().parse().ok()) }
    }

    fn has(self, uid: u32) -> bool {
        uid == 0 || self.unmapped == Some(uid)
    }
}

/// Walks along an absolute path; follows links that belong to root.
///
/// # Errors
/// The first component that is missing, or that users other than root can change.
pub(super) fn walk(path: &Path, rules: Rules) -> Result<Held, Refused> {
    if !path.is_absolute() {
        return Err(Refused::System(Errno::INVAL));
    }
    let judged = Judged { rules, roots: Roots::here() };
    let walk = Walk {
        judge: Some(&|fd, stat, path| judged.judge(fd, stat, path)),
        process: rules.own,
        ..Walk::following(Links::All)
    };
    let walked = walk.to(path)?;
    let path = walked.path();
    match walked.last {
        None => Err(Refused::System(Errno::NOENT)),
        Some(last) if last.is_magic => Err(Refused::Distrust(Distrust { path, why: Why::Kind })),
        Some(Last { fd, stat, .. }) => Ok(Held { fd, stat, path }),
    }
}

struct Judged {
    rules: Rules,
    roots: Roots,
}

impl Judged {
    /// Checks that only root can change this file, folder or link.
    fn judge(&self, fd: BorrowedFd<'_>, stat: &Stat, path: &Path) -> io::Result<()> {
        let is_refused_proc = self.rules.own.is_none() && is_proc(fd)?;
        let kind = is_refused_proc.then_some(Why::Kind);
        match kind.map_or_else(|| self.why_not(fd, stat), |it| Ok(Some(it)))? {
            None => Ok(()),
            Some(why) => {
                let path = path.to_owned();
                Err(Refusal::Changeable(Distrust { path, why }).into())
            }
        }
    }

    fn why_not(&self, fd: BorrowedFd<'_>, stat: &Stat) -> Result<Option<Why>, Errno> {
        if !self.roots.has(stat.st_uid) {
            return Ok(Some(Why::Owner(stat.st_uid)));
        }
        let mode = stat.st_mode;
        let is_folder = FileType::from_raw_mode(mode) == FileType::Directory;
        let is_kept = is_folder && self.rules.sticky_counts && mode & STICKY != 0;
        // The permission bits of devices and pipes are not checked here: the caller checks these bits.
        let is_open = matches!(FileType::from_raw_mode(mode), FileType::Directory | FileType::RegularFile);
        if mode & OTHERS_WRITE != 0 && !is_kept && is_open {
            return Ok(Some(Why::Everybody));
        }
        // If the file has an access list, these bits show the largest set of rights that the users and groups in the
        // list may have.
        if mode & GROUP_WRITES != 0 && !is_kept && is_open && (stat.st_gid != 0 || has_access_list(fd)) {
            return Ok(Some(Why::Group(stat.st_gid)));
        }
        // On file systems in memory, the mount option `nosuid` is accepted: these file systems belong to the kernel,
        // and only root can mount such a file system in a place that looptax sees.
        let flags = { rustix::fs::fstatvfs(fd) }.map_or(StatVfsMountFlags::empty(), |it| it.f_flag);
        if flags.contains(StatVfsMountFlags::NOSUID) && !is_kernel_s(fd)? {
            return Ok(Some(Why::Mount));
        }
        Ok(None)
    }
}

/// Numbers that identify file systems. Source: linux/magic.h.
const PROC: u64 = 0x9fa0;
const KERNEL_S: [u64; 7] = [
    PROC,
    0x0102_1994, // tmpfs
    0x6265_6572, // sysfs
    0x6367_7270, // cgroup2
    0x0027_e0eb, // cgroup
    0x1cd1,      // devpts
    0x8584_58f6, // ramfs
];

fn kind_of(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    Ok(rustix::fs::fstatfs(fd)?.f_type.cast_unsigned())
}

fn is_proc(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(kind_of(fd)? == PROC)
}

fn is_kernel_s(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(KERNEL_S.contains(&kind_of(fd)?))
}

const PROGRAM: Rules = Rules { sticky_counts: false, own: None };

/// Checks whether looptax may start a program. If looptax has rights that other users lack, only root may be able to
/// change the program and each folder and link on its path. With an ordinary user's rights, looptax may start any
/// program.
///
/// # Errors
/// The file or folder that users other than root can change.
pub fn trusted_program(path: &Path) -> Result<(), Distrust> {
    if !is_privileged() {
        return Ok(());
    }
    match walk(path, PROGRAM) {
        Ok(held) if FileType::from_raw_mode(held.stat.st_mode) == FileType::RegularFile => Ok(()),
        Ok(held) => Err(Distrust { path: held.path, why: Why::Kind }),
        Err(Refused::Distrust(why)) => Err(why),
        // The path does not lead to a file. The attempt to execute the program will fail and report the reason. The
        // part of the path that exists belongs to root.
        Err(Refused::System(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(()),
        Err(Refused::System(_)) => Err(Distrust { path: path.to_owned(), why: Why::Kind }),
    }
}

/// Opens a program that only root can change.
pub(super) fn open_program(path: &Path) -> Result<Held, Refused> {
    let held = walk(path, PROGRAM)?;
    match FileType::from_raw_mode(held.stat.st_mode) {
        FileType::RegularFile => Ok(held),
        _ => Err(Refused::System(Errno::ACCESS)),
    }
}

/// The folders in which looptax searches for the system's programs, even if `PATH` does not contain these folders.
const SYSTEM_FOLDERS: [&str; 6] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"];

/// Finds a program by its name, first in the folders of `PATH` and then in the system's folders. If looptax has rights
/// that other users lack, another user may have set `PATH`; looptax then skips programs that users other than root can
/// change.
///
/// # Errors
/// There is no such program; or the reason why the last candidate was skipped.
pub fn find_program(name: &str) -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::split_paths(&path).filter(|it| it.is_absolute());
    let folders = own.chain(SYSTEM_FOLDERS.map(PathBuf::from));
    let mut passed_over = None;
    for path in folders.map(|it| it.join(name)) {
        if !is_executable(&path) {
            continue;
        }
        match trusted_program(&path) {
            Ok(()) => return Ok(path),
            Err(why) => passed_over = Some(why),
        }
    }
    Err(match passed_over {
        Some(why) => io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("looptax does not run `{name}`, because users other than root can change {why}"),
        ),
        None => io::Error::new(
            io::ErrorKind::NotFound,
            format!("found no program `{name}` in PATH or the system's folders"),
        ),
    })
}

/// Whether a path leads to a file that some user may execute.
pub fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let found = std::fs::metadata(path);
    found.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}
