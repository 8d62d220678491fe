//! A scratch folder that another run has made. Finds out whether looptax owns the folder and which processes run in it,
//! and removes the folder.
//!
//! The reaper and the sweep know only the path of a folder, so all functions in this file take a path. These functions
//! remove a folder only in two cases: its name, its owner and its lock file are those of a scratch folder of this user;
//! or only the lock file is missing, and the folder is empty.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

use looptax_host::{Folder, Links, is_privileged};
use rustix::fs::{FileType, Stat};

use crate::servers::process::{self, Process};

/// The prefix of every scratch folder's name; eight hexadecimal digits follow.
const PREFIX: &str = "looptax-";
const NAME_DIGITS: usize = 8;

/// The lock file: it identifies the folder as looptax's, and is locked while the folder is in use.
pub(super) const LOCK: &str = "lock";
pub(super) const PIDS: &str = "pids";
pub(super) const LOG: &str = "log";
pub(super) const INNER: &str = "srv";

/// Maximum size in bytes of a list of processes, or of PostgreSQL's lock file; real files are smaller.
const MOST_PIDS_BYTES: u64 = 1 << 20;

/// Number of attempts to remove a folder. More than one attempt may be needed, because a server that is ending may
/// still write files there.
const REMOVE_TRIES: usize = 5;

/// Whether a folder is a scratch folder of this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A scratch folder of this user, according to its name, owner and lock file.
    Ours,
    /// A scratch folder of this user without a lock file: the process that made or removed the folder may have ended
    /// too early. The folder may be removed if it is empty.
    Unfinished,
    Foreign,
}

/// A folder that was checked, held open together with its parent folder.
struct Held {
    all: Folder,
    name: OsString,
    folder: Folder,
}

impl Held {
    /// Opens the folder; `None` if it cannot be a scratch folder of this user, because of its name or owner, or because
    /// another user could replace it.
    fn open(folder: &Path) -> Option<Self> {
        let uid = rustix::process::geteuid().as_raw();
        let (root, name) = folder.parent().zip(folder.file_name())?;
        if !is_scratch_path(folder) {
            return None;
        }
        let all = Folder::following(Links::All, root).ok()?;
        let folder = all.folder(name).ok()?;
        let is_ours = folder.stat().is_ok_and(|it| it.st_uid == uid);
        let is_kept = !is_privileged() || all.keeps(uid);
        (is_ours && is_kept).then(|| Self { all, name: name.to_owned(), folder })
    }

    fn standing(&self) -> Standing {
        let uid = rustix::process::geteuid().as_raw();
        match self.folder.look(LOCK) {
            Ok(Some(stat)) if is_file(&stat) && stat.st_uid == uid => Standing::Ours,
            Ok(None) => Standing::Unfinished,
            _ => Standing::Foreign,
        }
    }

    fn remove_itself(&self) -> io::Result<()> {
        self.all.remove_folder(&self.name)
    }
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Returns whether this folder is a scratch folder of this user.
pub(crate) fn standing(folder: &Path) -> Standing {
    Held::open(folder).map_or(Standing::Foreign, |it| it.standing())
}

/// Whether a scratch folder can have this path: the path is absolute, and its name has the form that [`folder_name`]
/// gives.
pub(crate) fn is_scratch_path(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let digits = name.and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
    folder.is_absolute() && digits.len() == NAME_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the name of the scratch folder with this number.
pub(super) fn folder_name(number: u32) -> String {
    format!("{PREFIX}{number:0NAME_DIGITS$x}")
}

pub(crate) fn open_lock(folder: &Path) -> io::Result<File> {
    let held = Held::open(folder).ok_or(io::ErrorKind::NotFound)?;
    held.folder.open_own(LOCK)
}

/// Returns the processes that were started for this folder, including those that have already ended.
pub(crate) fn noted_processes(folder: &Path) -> Vec<Process> {
    let bytes = Held::open(folder).and_then(|it| it.folder.read_own(PIDS, MOST_PIDS_BYTES).ok());
    let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Kills the processes that still run in a scratch folder, and removes the folder; does nothing if it is not this
/// user's scratch folder.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    let mut outcome = Ok(());
    for _ in 0..REMOVE_TRIES {
        let Some(held) = Held::open(folder) else {
            return Ok(());
        };
        outcome = match held.standing() {
            Standing::Ours => {
                process::kill_strays(folder, &noted_processes(folder));
                remove_once(&held)
            }
            // Removes only an empty folder; a folder with content belongs to another program.
            Standing::Unfinished => return held.remove_itself(),
            Standing::Foreign => return Ok(()),
        };
        if !outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::DirectoryNotEmpty) {
            break;
        }
    }
    outcome
}

/// Removes the lock file last, and then the empty folder, so that [`standing`] still recognizes the folder if the
/// removal is interrupted.
fn remove_once(held: &Held) -> io::Result<()> {
    let folder = &held.folder;
    remove_segment_of_postgres(folder);
    let unless_gone = |outcome: io::Result<()>| match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    };
    unless_gone(folder.remove_all(INNER))?;
    for name in [PIDS, LOG, LOCK] {
        unless_gone(folder.remove(name))?;
    }
    unless_gone(held.remove_itself())
}

/// Removes the shared memory that a killed PostgreSQL left behind. Line 7 of PostgreSQL's `postmaster.pid` identifies
/// this memory.
fn remove_segment_of_postgres(folder: &Folder) {
    let Ok(inner) = folder.folder(INNER) else {
        return;
    };
    let read = || {
        let owner = inner.stat()?.st_uid;
        let (_, bytes) = inner.folder("data")?.read("postmaster.pid", MOST_PIDS_BYTES)?;
        Ok::<_, io::Error>((owner, String::from_utf8_lossy(&bytes).into_owned()))
    };
    let Ok((owner, text)) = read() else { return };
    let numbers: Vec<i64> = text.lines().nth(6).unwrap_or_default().split_whitespace().flat_map(str::parse).collect();
    if let [key, id] = numbers[..]
        && let Ok(id) = i32::try_from(id)
    {
        // The file shows the key as an unsigned number of 32 bits.
        crate::servers::sys::remove_unused_segment(id, key as i32, owner);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(folder: &Path, expected: Standing) {
        assert_eq!(standing(folder), expected, "{}", folder.display());
        let is_removed = remove_folder(folder).is_ok() && fs::symlink_metadata(folder).is_err();
        assert_eq!(is_removed, expected == Standing::Ours, "{}", folder.display());
    }

    /// Makes a folder that holds one file.
    fn folder_with(file: &str, root: &Path, name: &str) -> std::path::PathBuf {
        let folder = root.join(name);
        fs::create_dir(&folder).unwrap();
        File::create(folder.join(file)).unwrap();
        folder
    }

    #[test]
    fn only_a_folder_with_our_name_and_lock_is_ours() {
        let root = tempfile::tempdir().unwrap();
        let ours = folder_with(LOCK, root.path(), &folder_name(0xa1));
        let link = root.path().join(folder_name(2));
        std::os::unix::fs::symlink(&ours, &link).unwrap();
        check(&link, Standing::Foreign);
        check(&folder_with("file", root.path(), &folder_name(3)), Standing::Unfinished);
        check(&folder_with(LOCK, root.path(), "looptax-results"), Standing::Foreign);
        check(&folder_with(LOCK, root.path(), "other"), Standing::Foreign);
        check(&ours, Standing::Ours);
    }

    #[test]
    fn a_folder_whose_maker_died_at_once_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(folder_name(5));
        fs::create_dir(&folder).unwrap();
        assert_eq!(standing(&folder), Standing::Unfinished);
        remove_folder(&folder).unwrap();
        assert!(!folder.exists());
    }
}
