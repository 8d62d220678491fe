//! A scratch folder seen from outside: is it ours, who works in it, away with it.
//!
//! The reaper and the sweep know no more of a folder than its path, so everything here starts from
//! that. Nothing but a folder with our name, owner and lock file is ever removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::process::{self, Process};

/// What every scratch folder's name starts with; eight hexadecimal digits follow.
const PREFIX: &str = "looptax-";
const NAME_DIGITS: usize = 8;

/// The lock file: what makes a folder ours, and held while it is in use.
pub(super) const LOCK: &str = "lock";
/// The list of processes.
pub(super) const PIDS: &str = "pids";
/// What the server prints.
pub(super) const LOG: &str = "log";
/// The server's own part.
pub(super) const INNER: &str = "srv";

/// Tries at removing a folder into which a dying server may still write.
const REMOVE_TRIES: usize = 5;

/// What a folder is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A scratch folder that this user made: by name, owner and lock file.
    Ours,
    /// The same without a lock file: its maker or its remover may have died in the middle. May be
    /// removed if it is empty.
    Unfinished,
    /// Anything else.
    Foreign,
}

/// What this folder is to us.
pub(crate) fn standing(folder: &Path) -> Standing {
    let uid = rustix::process::geteuid().as_raw();
    let is_ours = is_scratch_path(folder)
        && fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid);
    if !is_ours {
        return Standing::Foreign;
    }
    match fs::symlink_metadata(folder.join(LOCK)) {
        Ok(meta) if meta.is_file() && meta.uid() == uid => Standing::Ours,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Standing::Unfinished,
        _ => Standing::Foreign,
    }
}

/// Whether a scratch folder could have this path: absolute, and a name as [`folder_name`] makes it.
pub(crate) fn is_scratch_path(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let digits = name
        .and_then(|name| name.strip_prefix(PREFIX))
        .unwrap_or_default();
    folder.is_absolute()
        && digits.len() == NAME_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The name of a scratch folder with this number.
pub(super) fn folder_name(number: u32) -> String {
    format!("{PREFIX}{number:0NAME_DIGITS$x}")
}

/// Opens a scratch folder's lock file.
pub(crate) fn open_lock(folder: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(folder.join(LOCK))
}

/// The processes that were started for this folder, whether they still live or not.
pub(crate) fn noted_processes(folder: &Path) -> Vec<Process> {
    let text = fs::read_to_string(folder.join(PIDS)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Kills who still works in a scratch folder and removes it; does nothing to what is not ours.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    let mut outcome = Ok(());
    for _ in 0..REMOVE_TRIES {
        outcome = match standing(folder) {
            Standing::Ours => {
                process::kill_strays(folder, &noted_processes(folder));
                remove_once(folder)
            }
            // Succeeds only for an empty one; a full one is somebody else's.
            Standing::Unfinished => return fs::remove_dir(folder),
            Standing::Foreign => return Ok(()),
        };
        if !outcome
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::DirectoryNotEmpty)
        {
            break;
        }
    }
    outcome
}

/// Removes the lock last, and then the empty folder: a removal that is cut short anywhere leaves what
/// [`standing`] still knows.
fn remove_once(folder: &Path) -> io::Result<()> {
    let inner = folder.join(INNER);
    remove_segment_of_postgres(&inner);
    let unless_gone = |outcome: io::Result<()>| match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    };
    unless_gone(fs::remove_dir_all(inner))?;
    for name in [PIDS, LOG, LOCK] {
        unless_gone(fs::remove_file(folder.join(name)))?;
    }
    unless_gone(fs::remove_dir(folder))
}

/// Removes the shared memory that a killed PostgreSQL left, named in line 7 of its `postmaster.pid`.
fn remove_segment_of_postgres(inner: &Path) {
    let Ok(owner) = fs::symlink_metadata(inner).map(|meta| meta.uid()) else {
        return;
    };
    let path = inner.join("data").join("postmaster.pid");
    let Ok(mut file) = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
    else {
        return;
    };
    let mut text = String::new();
    if Read::by_ref(&mut file)
        .take(4096)
        .read_to_string(&mut text)
        .is_err()
    {
        return;
    }
    let numbers: Vec<i64> = text
        .lines()
        .nth(6)
        .unwrap_or_default()
        .split_whitespace()
        .flat_map(str::parse)
        .collect();
    if let [key, id] = numbers[..]
        && let Ok(id) = i32::try_from(id)
    {
        // The key is printed unsigned, and is 32 bits wide.
        crate::sys::remove_unused_segment(id, key as i32, owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(folder: &Path, expected: Standing) {
        assert_eq!(standing(folder), expected, "{}", folder.display());
        let is_removed = remove_folder(folder).is_ok() && fs::symlink_metadata(folder).is_err();
        assert_eq!(
            is_removed,
            expected == Standing::Ours,
            "{}",
            folder.display()
        );
    }

    /// A folder that holds one file.
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
        check(
            &folder_with("file", root.path(), &folder_name(3)),
            Standing::Unfinished,
        );
        check(
            &folder_with(LOCK, root.path(), "looptax-results"),
            Standing::Foreign,
        );
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
