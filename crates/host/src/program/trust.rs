//! Whether only root can change what lies at a path: the file, each folder on the way to it, and each link.
//!
//! The path is walked from `/`, one component at a time, and each is judged by its descriptor. What was judged is given
//! back as a descriptor: a name is not used twice.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, StatVfsMountFlags};
use rustix::io::Errno;

use super::user;

/// The most links that one path may lead over, as the kernel has it. Source: `path_resolution(7)`.
const MOST_LINKS: usize = 40;
/// Bits of a file's mode. Source: inode(7).
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// The file or folder that others than root can change, and by which right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distrust {
    /// The path, with links followed up to it.
    pub path: PathBuf,
    /// Who can change it.
    pub why: Why,
}

/// The right by which others than root can change a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It belongs to this user.
    Owner(u32),
    /// Its group may write it.
    Group(u32),
    /// Everybody may write it.
    Everybody,
    /// Its file system was mounted without set-user-ID programs: its owners may be another machine's.
    Mount,
    /// It is neither a file nor a folder nor a link.
    Kind,
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.why {
            Why::Owner(uid) => write!(f, "{path}, which belongs to {}", user::shown(uid)),
            Why::Group(gid) => write!(f, "{path}, which its group {gid} may write"),
            Why::Everybody => write!(f, "{path}, which everybody may write"),
            Why::Mount => write!(
                f,
                "{path}, which is on a file system that was mounted with nosuid"
            ),
            Why::Kind => write!(f, "{path}, which is not a regular file"),
        }
    }
}

/// Why a path was not walked to its end.
#[derive(Debug)]
pub(super) enum Refused {
    /// The kernel's error.
    System(Errno),
    /// Others than root can change it.
    Distrust(Distrust),
}

impl From<Errno> for Refused {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}

/// A file that only root can change, held.
#[derive(Debug)]
pub(super) struct Held {
    /// Opened with `O_PATH`.
    pub(super) fd: OwnedFd,
    /// As it was judged.
    pub(super) stat: Stat,
    /// Its path without links.
    pub(super) path: PathBuf,
}

/// The rules of a walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whether root's files in a folder that everybody may write, and where only owners may delete, count as root's
    /// (`/tmp`). Not for programs: other files beside them are taken for theirs.
    pub(super) sticky_counts: bool,
    /// Whose `/proc/self` is meant. `None` refuses all of `/proc`.
    pub(super) own: Option<u32>,
}

/// Whom this process trusts, besides root itself.
#[derive(Debug, Clone, Copy)]
struct Roots {
    /// The number that users have who are not mapped into a namespace: root outside is one of them.
    unmapped: Option<u32>,
}

impl Roots {
    fn here() -> Self {
        let unmapped = || std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
        Self {
            unmapped: (!user::is_first_namespace())
                .then(unmapped)
                .flatten()
                .and_then(|it| it.trim().parse().ok()),
        }
    }

    fn has(self, uid: u32) -> bool {
        uid == 0 || self.unmapped == Some(uid)
    }
}

/// Walks an absolute path from `/`; follows links that are root's.
///
/// # Errors
/// The first component that is missing, or that others than root can change.
pub(super) fn walk(path: &Path, rules: Rules) -> Result<Held, Refused> {
    if !path.is_absolute() {
        return Err(Errno::INVAL.into());
    }
    Walk::new(rules)?.to(path)
}

struct Walk {
    rules: Rules,
    roots: Roots,
    /// The folders from `/` to where the walk is, with their names.
    folders: Vec<(OwnedFd, OsString)>,
    root: OwnedFd,
    n_links: usize,
}

impl Walk {
    fn new(rules: Rules) -> Result<Self, Refused> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let walk = Self {
            rules,
            roots: Roots::here(),
            folders: Vec::new(),
            root: rustix::fs::openat(CWD, "/", flags, Mode::empty())?,
            n_links: 0,
        };
        let stat = rustix::fs::fstat(&walk.root)?;
        walk.judge(walk.root.as_fd(), &stat, Path::new("/"))?;
        Ok(walk)
    }

    fn at(&self) -> BorrowedFd<'_> {
        { self.folders.last() }.map_or(self.root.as_fd(), |it| it.0.as_fd())
    }

    fn path(&self, name: &OsStr) -> PathBuf {
        let mut path = PathBuf::from("/");
        path.extend(self.folders.iter().map(|it| &it.1));
        if !name.is_empty() {
            path.push(name);
        }
        path
    }

    fn to(mut self, path: &Path) -> Result<Held, Refused> {
        let mut ahead: VecDeque<OsString> = parts(path).collect();
        while let Some(name) = ahead.pop_front() {
            if name.is_empty() {
                self.folders.clear();
                continue;
            }
            if name == ".." {
                self.folders.pop();
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = rustix::fs::openat(self.at(), &*name, flags, Mode::empty())?;
            let stat = rustix::fs::fstat(&fd)?;
            let whole = self.path(&name);
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    let to = self.link(&fd, &stat, &whole, &name)?;
                    let to: Vec<OsString> = parts(&to).collect();
                    for part in to.into_iter().rev() {
                        ahead.push_front(part);
                    }
                }
                FileType::Directory => {
                    self.judge(fd.as_fd(), &stat, &whole)?;
                    self.folders.push((fd, name));
                }
                _ if ahead.is_empty() => {
                    self.judge(fd.as_fd(), &stat, &whole)?;
                    return Ok(Held {
                        fd,
                        stat,
                        path: whole,
                    });
                }
                _ => return Err(Errno::NOTDIR.into()),
            }
        }
        let path = self.path(OsStr::new(""));
        let fd = { self.folders.pop() }.map_or(self.root, |it| it.0);
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Held { fd, stat, path })
    }

    /// Where a link leads.
    fn link(
        &mut self,
        fd: &OwnedFd,
        stat: &Stat,
        whole: &Path,
        name: &OsStr,
    ) -> Result<PathBuf, Refused> {
        self.n_links += 1;
        if self.n_links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let distrust = |why| {
            let path = whole.to_owned();
            Err(Refused::Distrust(Distrust { path, why }))
        };
        if is_proc(fd.as_fd())? {
            // Most links there are not names: they lead to a process's own files.
            let Some(own) = self.rules.own else {
                return distrust(Why::Kind);
            };
            return match name.to_str() {
                Some("self") => Ok(PathBuf::from(own.to_string())),
                Some("thread-self") => Ok(PathBuf::from(format!("{own}/task/{own}"))),
                Some("mounts") => Ok(PathBuf::from("self/mounts")),
                Some("net") => Ok(PathBuf::from("self/net")),
                _ => distrust(Why::Kind),
            };
        }
        if !self.roots.has(stat.st_uid) {
            return distrust(Why::Owner(stat.st_uid));
        }
        let to = rustix::fs::readlinkat(fd, "", Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(to.into_bytes())))
    }

    /// Whether only root can change this file or folder.
    fn judge(&self, fd: BorrowedFd<'_>, stat: &Stat, path: &Path) -> Result<(), Refused> {
        let why = self.why_not(fd, stat)?;
        why.map_or(Ok(()), |why| {
            let path = path.to_owned();
            Err(Refused::Distrust(Distrust { path, why }))
        })
    }

    fn why_not(&self, fd: BorrowedFd<'_>, stat: &Stat) -> Result<Option<Why>, Errno> {
        if !self.roots.has(stat.st_uid) {
            return Ok(Some(Why::Owner(stat.st_uid)));
        }
        let mode = stat.st_mode;
        let is_folder = FileType::from_raw_mode(mode) == FileType::Directory;
        let is_kept = is_folder && self.rules.sticky_counts && mode & STICKY != 0;
        // A device, a pipe: whoever asks judges those.
        let is_open = matches!(
            FileType::from_raw_mode(mode),
            FileType::Directory | FileType::RegularFile
        );
        if mode & OTHERS_WRITE != 0 && !is_kept && is_open {
            return Ok(Some(Why::Everybody));
        }
        // With an access list these bits say what its users and groups may at most.
        if mode & GROUP_WRITES != 0
            && !is_kept
            && is_open
            && (stat.st_gid != 0 || has_access_list(fd)?)
        {
            return Ok(Some(Why::Group(stat.st_gid)));
        }
        // A memory file system is the kernel's own, and only root mounts one where we see it.
        let flags = { rustix::fs::fstatvfs(fd) }.map_or(StatVfsMountFlags::empty(), |it| it.f_flag);
        if flags.contains(StatVfsMountFlags::NOSUID) && !is_kernel_s(fd)? {
            return Ok(Some(Why::Mount));
        }
        Ok(None)
    }
}

/// The parts of a path; an absolute one begins with an empty part.
fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|it| match it {
        Component::RootDir => Some(OsString::new()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::Normal(name) => Some(name.to_owned()),
        Component::CurDir | Component::Prefix(_) => None,
    })
}

fn has_access_list(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    match rustix::fs::getxattr_query(path, "system.posix_acl_access") {
        Ok(n_bytes) => Ok(n_bytes > 0),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Source: linux/magic.h.
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

pub(super) fn is_proc(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(kind_of(fd)? == PROC)
}

fn is_kernel_s(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(KERNEL_S.contains(&kind_of(fd)?))
}

/// Whether programs that this process starts get rights that another user lacks: then only those count that nobody
/// but root can change.
pub fn is_privileged() -> bool {
    let has_any = || {
        let sets = rustix::thread::capabilities(None);
        sets.is_ok_and(|it| !it.permitted.is_empty())
    };
    // In a user namespace of its own an ordinary user has only that user's rights over files.
    rustix::process::geteuid().is_root() || (user::is_first_namespace() && has_any())
}

const PROGRAM: Rules = Rules {
    sticky_counts: false,
    own: None,
};

/// Whether a program may be started by this process: with rights that others lack, only if nobody but root can change
/// it, a folder on the way to it, or a link. An ordinary user's own process may start anything.
///
/// # Errors
/// What others than root can change.
pub fn trusted_program(path: &Path) -> Result<(), Distrust> {
    if !is_privileged() {
        return Ok(());
    }
    match walk(path, PROGRAM) {
        Ok(held) if FileType::from_raw_mode(held.stat.st_mode) == FileType::RegularFile => Ok(()),
        Ok(held) => Err(Distrust {
            path: held.path,
            why: Why::Kind,
        }),
        Err(Refused::Distrust(why)) => Err(why),
        // It cannot be executed either, and the attempt says why: what was passed until here is root's.
        Err(Refused::System(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(()),
        Err(Refused::System(_)) => Err(Distrust {
            path: path.to_owned(),
            why: Why::Kind,
        }),
    }
}

/// Opens a program that only root can change.
pub(super) fn open_program(path: &Path) -> Result<Held, Refused> {
    let held = walk(path, PROGRAM)?;
    match FileType::from_raw_mode(held.stat.st_mode) {
        FileType::RegularFile => Ok(held),
        _ => Err(Errno::ACCESS.into()),
    }
}

/// The folders in which a program of the system is looked for, whatever PATH says.
const SYSTEM_FOLDERS: [&str; 6] = [
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/usr/local/sbin",
    "/usr/local/bin",
];

/// A program by its name, in the folders of PATH and then in those of the system. A process with rights that others
/// lack passes over one that others than root can change: PATH may be what another user has set.
///
/// # Errors
/// That there is none, or the last one that was passed over.
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
            format!("`{name}` was passed over, since others than root can change {why}"),
        ),
        None => io::Error::new(
            io::ErrorKind::NotFound,
            format!("no program `{name}` in PATH or the system's folders"),
        ),
    })
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let found = std::fs::metadata(path);
    found.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}
