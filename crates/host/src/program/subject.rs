//! A process whose program is run to get its configuration: its user, the file that it runs, and its start arguments.
//!
//! `/proc/PID` is opened once and held, so that all facts are about the same process, even if its pid is reused. The
//! file that the process runs is opened once, through `exe` in that folder; looptax then uses the file's descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::ProgramError;
use super::trust::{self, Refused};
use crate::control::Distrust;

/// The maximum number of bytes read from a process's environment, and from its status.
const MOST_BYTES: u64 = 1 << 20;
/// The kernel's suffix for the path of a deleted file.
const REMOVED: &str = " (deleted)";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

#[derive(Debug)]
pub struct Subject {
    pub(super) pid: u32,
    folder: OwnedFd,
    pub(super) owner: Owner,
    pub(super) program: Program,
}

/// The file that a process runs, opened once.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) fd: OwnedFd,
    /// The program's path, for messages and to find files in the same folder.
    pub(super) path: PathBuf,
}

impl Subject {
    /// Holds a process open, and determines the user that its program may run as.
    ///
    /// # Errors
    /// [`ProgramError::Ended`], [`ProgramError::Elsewhere`] and [`ProgramError::Replaced`].
    /// [`ProgramError::SeveralUsers`] if the process has the rights of several users, for example because of the
    /// set-user-ID bit: another user may have chosen the program's arguments. [`ProgramError::Untrusted`] if root runs
    /// the process, and other users can change the program.
    pub fn hold(pid: u32) -> Result<Self, ProgramError> {
        let ended = |_: Errno| ProgramError::Ended { pid };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, format!("/proc/{pid}"), flags, Mode::empty());
        let folder = folder.map_err(ended)?;
        // The owner is read before and after the program's file, because the process may execute another program in
        // between.
        let owner = owner(pid, &folder)?;
        if !is_beside_us(&folder) {
            return Err(ProgramError::Elsewhere { pid });
        }
        let program = program(pid, &folder, owner.uid)?;
        if self::owner(pid, &folder)? != owner {
            return Err(ProgramError::Ended { pid });
        }
        Ok(Self { pid, folder, owner, program })
    }

    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    pub fn path(&self) -> &Path {
        &self.program.path
    }

    /// Returns the environment variables with which the process was started.
    pub(super) fn environment(&self) -> Result<Vec<(OsString, OsString)>, ProgramError> {
        let ended = |_| ProgramError::Ended { pid: self.pid };
        let bytes = read(&self.folder, "environ").map_err(ended)?;
        let owned = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        let pairs = bytes.split(|byte| *byte == 0).filter_map(|it| {
            let at = it.iter().position(|byte| *byte == b'=')?;
            Some((owned(&it[..at]), owned(&it[at + 1..])))
        });
        Ok(pairs.collect())
    }

    /// Returns the working folder of the process; `None` if it cannot be opened.
    pub(super) fn work_folder(&self) -> Option<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.folder, "cwd", flags, Mode::empty()).ok()
    }
}

fn read(folder: &OwnedFd, name: &str) -> std::io::Result<Vec<u8>> {
    let file = rustix::fs::openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let mut bytes = Vec::new();
    File::from(file?).take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the user, group and set of groups of a process; an error if the process acts with the rights of several
/// users or groups.
///
/// # Source
/// `proc_pid_status(5)`: `Uid` and `Gid` list four numbers: real, effective, saved and file-system.
fn owner(pid: u32, folder: &OwnedFd) -> Result<Owner, ProgramError> {
    let bytes = read(folder, "status").map_err(|_| ProgramError::Ended { pid })?;
    let text = String::from_utf8_lossy(&bytes);
    let numbers = |name: &str| -> Option<Vec<u32>> {
        let line = text.lines().find_map(|it| it.strip_prefix(name))?;
        line.split_whitespace().map(|it| it.parse().ok()).collect()
    };
    let several = || ProgramError::SeveralUsers { pid };
    let one = |name: &str| match *numbers(name)? {
        [first, second, third, fourth] => (first == second && second == third && third == fourth).then_some(first),
        _ => None,
    };
    Ok(Owner {
        uid: one("Uid:").ok_or_else(several)?,
        gid: one("Gid:").ok_or_else(several)?,
        groups: numbers("Groups:").ok_or_else(several)?,
    })
}

/// Whether a process is in the same user and process namespaces as looptax. In a container, a user with the same number
/// may have other rights.
fn is_beside_us(folder: &OwnedFd) -> bool {
    ["ns/user", "ns/pid"].iter().all(|name| {
        let theirs = rustix::fs::readlinkat(folder, *name, Vec::new());
        let ours = rustix::fs::readlinkat(CWD, format!("/proc/self/{name}"), Vec::new());
        theirs.is_ok_and(|theirs| ours.is_ok_and(|ours| ours == theirs))
    })
}

fn program(pid: u32, folder: &OwnedFd, uid: u32) -> Result<Program, ProgramError> {
    let hidden = |_| ProgramError::Hidden { pid };
    let fd = rustix::fs::openat(folder, "exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let fd = fd.map_err(hidden)?;
    let stat = rustix::fs::fstat(fd.as_fd()).map_err(hidden)?;
    let path = rustix::fs::readlinkat(folder, "exe", Vec::new()).map_err(hidden)?;
    let path = path.into_bytes();
    let path = path.strip_suffix(REMOVED.as_bytes()).filter(|_| stat.st_nlink == 0).unwrap_or(&path);
    let path = PathBuf::from(OsStr::from_bytes(path));
    if stat.st_nlink == 0 {
        // An upgrade has replaced the program's file. The owner of the process would now start the new file. looptax
        // uses the new file, too, provided that only root can have put it at this path.
        return match trust::open_program(&path) {
            Ok(held) => Ok(Program { fd: held.fd, path }),
            Err(Refused::Distrust(why)) => Err(ProgramError::Replaced { pid, path, why: Some(why) }),
            Err(Refused::System(_)) => Err(ProgramError::Replaced { pid, path, why: None }),
        };
    }
    // A program of a user other than root may be any file, because it runs with no more than that user's rights.
    if uid == 0 {
        root_s(&path, &stat).map_err(|why| ProgramError::Untrusted { pid, path: path.clone(), why })?;
    }
    Ok(Program { fd, path })
}

/// Checks that the file at the path is the program that root's process runs, and that only root can change the file.
fn root_s(path: &Path, stat: &Stat) -> Result<(), Option<Distrust>> {
    match trust::open_program(path) {
        Ok(held) => {
            let is_same = (held.stat.st_dev, held.stat.st_ino) == (stat.st_dev, stat.st_ino);
            is_same.then_some(()).ok_or(None)
        }
        Err(Refused::Distrust(why)) => Err(Some(why)),
        Err(Refused::System(_)) => Err(None),
    }
}
