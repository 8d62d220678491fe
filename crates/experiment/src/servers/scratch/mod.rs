//! Makes, locks, writes and removes the scratch folder of one private server.
//!
//! ```text
//! looptax-XXXXXXXX/      ours; 0711 when the server has another account, else 0700
//!   lock                 held (flock) by looptax and the reaper while they live
//!   pids                 every process started for this folder
//!   log                  what the server prints
//!   srv/                 the server's own, 0700: data, socket, configuration
//! ```
//! Nothing outside such a folder is ever removed. Called by the server, the reaper and the sweep.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use looptax_host::{FileId, Folder, Links, Refusal, is_privileged};
use rustix::fs::{Gid, Uid, fchown, fstat};

mod abandoned;
mod log;

pub(crate) use abandoned::{Standing, is_scratch_path, noted_processes, open_lock, remove_folder, standing};

use crate::servers::account::{self, Account};
use crate::servers::process::Process;
use crate::servers::{Reaper, ServerError};
use abandoned::{INNER, LOCK, LOG, PIDS};

/// The maximum length of a socket's path in bytes: `sun_path` has 108 bytes, one of them for the NUL (man unix(7)).
const SOCKET_PATH_LIMIT: usize = 107;

/// Maximum number of attempts to make and lock a folder. An attempt fails if a sweep removes the folder before it is
/// locked. One attempt is nearly always enough.
const LOCK_TRIES: usize = 10;

/// A scratch folder that this process owns as long as this value exists; the folder is removed when the value is
/// dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    held: Folder,
    account: Option<Account>,
    reaper: Reaper,
    is_removed: bool,
    _lock: File,
}

impl Scratch {
    /// Makes and locks a folder in `root`, and tells the reaper about it.
    pub(crate) fn create(root: &Path, account: Option<Account>, reaper: &Reaper) -> Result<Self, ServerError> {
        check_root(root)?;
        let (folder, held, lock) = create_locked(root, reaper)?;
        let scratch = Self { folder, held, account, reaper: reaper.clone(), is_removed: false, _lock: lock };
        let mode = if account.is_some() { 0o711 } else { 0o700 };
        let set = scratch.held.set_mode(mode);
        set.map_err(failed("set the mode of", &scratch.folder))?;
        scratch.create_folder("")?;
        Ok(scratch)
    }

    /// Returns a path in the server's part of the folder. For an empty name, returns the path of the server's part
    /// itself.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.folder.join(INNER) } else { self.folder.join(INNER).join(name) }
    }

    /// Returns the path of a socket in the server's part; an error if the path does not fit into a socket address.
    pub(crate) fn socket_path(&self, name: &str) -> Result<PathBuf, ServerError> {
        let path = self.path(name);
        let bytes = path.as_os_str().as_bytes().len();
        if bytes > SOCKET_PATH_LIMIT {
            return Err(ServerError::PathTooLong { path, bytes, limit: SOCKET_PATH_LIMIT });
        }
        Ok(path)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the account that owns the server's part; `None` if the user of looptax owns it.
    pub(crate) fn account(&self) -> Option<Account> {
        self.account
    }

    /// Makes a folder of mode 0700 in the server's part, owned by the server's account.
    pub(crate) fn create_folder(&self, name: &str) -> Result<PathBuf, ServerError> {
        let path = self.path(name);
        let made = match self.place(name) {
            Ok((folder, last)) => {
                folder.make_folder(&last, 0o700).and_then(|()| self.hand_over(&folder.folder(&last)?.readable()?))
            }
            Err(error) => Err(error),
        };
        made.map_err(failed("create", &path))?;
        Ok(path)
    }

    /// Writes a file of mode 0600 in the server's part, owned by the server's account.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, ServerError> {
        let path = self.path(name);
        let write = || {
            let (folder, last) = self.place(name)?;
            let mut file = folder.create(&last, 0o600)?;
            file.write_all(text.as_bytes())?;
            self.hand_over(&file)
        };
        write().map_err(failed("write", &path))?;
        Ok(path)
    }

    /// Makes a symbolic link in the server's part of the folder; its target is a file or folder that the server only reads.
    pub(crate) fn link(&self, name: &str, target: &Path) -> Result<(), ServerError> {
        let link = || {
            let (folder, last) = self.place(name)?;
            folder.make_link(last, target)
        };
        link().map_err(failed("link", &self.path(name)))
    }

    /// Whether the server's part has a file or folder of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        let found = self.place(name).and_then(|(folder, last)| folder.look(&last));
        found.is_ok_and(|it| it.is_some())
    }

    /// Removes a file from the server's part.
    pub(crate) fn remove_file(&self, name: &str) -> Result<(), ServerError> {
        let removed = self.place(name).and_then(|(folder, last)| folder.remove(&last));
        removed.map_err(failed("remove", &self.path(name)))
    }

    /// Splits a path in the server's part into its folder and its last component. The server's account may write in
    /// that part, so links are not followed.
    fn place(&self, name: &str) -> io::Result<(Folder, String)> {
        let whole = if name.is_empty() { INNER.to_owned() } else { format!("{INNER}/{name}") };
        let mut parts: Vec<&str> = whole.split('/').collect();
        let last = parts.pop().unwrap_or_default().to_owned();
        let mut folder = self.held.again()?;
        for part in parts {
            folder = folder.folder(part)?;
        }
        Ok((folder, last))
    }

    /// Allows a group to enter the folder and the server's part; the group cannot list them.
    pub(crate) fn let_enter(&self, group: u32) -> Result<(), ServerError> {
        let enter = |folder: &Folder| {
            fchown(folder.readable()?, None, Some(Gid::from_raw(group)))?;
            folder.set_mode(0o710)
        };
        let both = enter(&self.held).and_then(|()| enter(&self.held.folder(INNER)?));
        both.map_err(failed("set the group of", &self.folder))
    }

    pub(crate) fn open_log(&self) -> Result<File, ServerError> {
        let log = self.held.append_or_create_own(LOG);
        log.map_err(failed("open", &self.folder.join(LOG)))
    }

    /// Returns the last lines of the log, without control characters.
    pub(crate) fn log_tail(&self) -> String {
        let tail = self.held.open_own(LOG).and_then(log::read_tail);
        tail.unwrap_or_else(|error| format!("(no log: {error})"))
    }

    /// Records a started process, both for the reaper and for a later sweep.
    pub(crate) fn note(&self, process: Process) -> Result<(), ServerError> {
        let noted = { self.held.append_or_create_own(PIDS) }.and_then(|mut file| writeln!(file, "{process}"));
        noted.map_err(failed("write", &self.folder.join(PIDS)))?;
        self.reaper.watch_process(process)
    }

    /// Tells the reaper that a process has ended.
    pub(crate) fn forget(&self, pid: u32) {
        self.reaper.forget_process(pid);
    }

    /// Removes the folder; a second call does nothing.
    pub(crate) fn remove(&mut self) -> Result<(), ServerError> {
        if self.is_removed {
            return Ok(());
        }
        remove_folder(&self.folder).map_err(failed("remove", &self.folder))?;
        self.is_removed = true;
        self.reaper.forget_folder(&self.folder);
        Ok(())
    }

    fn hand_over(&self, file: impl AsFd) -> io::Result<()> {
        match self.account {
            Some(Account { uid, gid }) => Ok(fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?),
            None => Ok(()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If the removal fails, the reaper removes the folder, because the reaper got no message that the folder is
        // gone.
        self.remove().ok();
    }
}

/// Checks the root. Returns an error if the root's path is relative, or if some server's configuration could not
/// contain the path without quotes.
fn check_root(root: &Path) -> Result<(), ServerError> {
    let text = root.to_string_lossy();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    let offending = text.chars().find(|character| !is_plain(*character));
    let offending = offending.or_else(|| (!root.is_absolute()).then(|| text.chars().next().unwrap_or(' ')));
    match offending {
        Some(character) => Err(ServerError::PathCharacter { path: root.to_owned(), character }),
        None => Ok(()),
    }
}

/// Makes a folder and takes its lock. If a sweep has removed the folder before it was locked, starts again.
///
/// The reaper gets a message about the folder before the folder exists, and again when the reaper can hold the lock.
fn create_locked(root: &Path, reaper: &Reaper) -> Result<(PathBuf, Folder, File), ServerError> {
    let all = Folder::following(Links::All, root).and_then(refuse_foreign);
    let all = all.map_err(failed("create a folder in", root))?;
    let mut last = io::Error::from(io::ErrorKind::ResourceBusy);
    for _ in 0..LOCK_TRIES {
        let name = abandoned::folder_name(account::random_number()?);
        let folder = root.join(&name);
        reaper.watch_folder(&folder)?;
        let made = all.make_folder(&name, 0o700).and_then(|()| {
            let held = all.folder(&name)?;
            let lock = take_lock(&held)?;
            Ok((held, lock))
        });
        match made {
            Ok((held, lock)) => {
                reaper.watch_folder(&folder)?;
                return Ok((folder, held, lock));
            }
            Err(error) => last = error,
        }
        // If another process has made a folder with this name, the reaper must not remove that folder.
        reaper.forget_folder(&folder);
        let is_passing = [io::ErrorKind::AlreadyExists, io::ErrorKind::NotFound, io::ErrorKind::ResourceBusy];
        if !is_passing.contains(&last.kind()) {
            break;
        }
    }
    Err(failed("create a folder in", root)(last))
}

/// Returns an error if both conditions are met: the caller is privileged, and a user without the caller's rights could
/// replace folders on the path of the root.
fn refuse_foreign(root: Folder) -> io::Result<Folder> {
    let own = rustix::process::geteuid().as_raw();
    match root.stranger() {
        Some(stranger) if is_privileged() && !root.keeps(own) => Err(Refusal::Stranger(stranger.clone()).into()),
        _ => Ok(root),
    }
}

/// Creates the lock file and takes a shared lock on it, so that the reaper can hold the lock too.
fn take_lock(folder: &Folder) -> io::Result<File> {
    let lock = folder.create(LOCK, 0o600)?;
    lock.try_lock_shared().map_err(|error| match error {
        TryLockError::Error(source) => source,
        TryLockError::WouldBlock => io::ErrorKind::ResourceBusy.into(),
    })?;
    // A sweep may have removed the file before it was locked.
    let named = folder.look(LOCK)?.ok_or(io::ErrorKind::NotFound)?;
    if FileId::from(&named) == FileId::from(&fstat(&lock)?) { Ok(lock) } else { Err(rustix::io::Errno::NOENT.into()) }
}

/// Makes the error of a failed action on a path.
fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ServerError {
    let path = path.to_owned();
    move |source| ServerError::Scratch { action, path, source }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[track_caller]
    fn check_root_is_refused(root: &str, expected: char) {
        let error = check_root(Path::new(root)).unwrap_err();
        assert!(matches!(error, ServerError::PathCharacter { character, .. } if character == expected), "{error}");
    }

    #[test]
    fn a_root_that_needs_quoting_is_refused() {
        check_root(Path::new("/tmp/a-b_c.d+e")).unwrap();
        check_root_is_refused("/tmp/a b", ' ');
        check_root_is_refused("/tmp/a,b", ',');
        check_root_is_refused("/tmp/a\nb", '\n');
        check_root_is_refused("relative", 'r');
    }

    fn scratch_in(root: &Path) -> Scratch {
        Scratch::create(root, None, &Reaper::absent()).unwrap()
    }

    #[test]
    fn a_socket_path_of_108_bytes_is_refused_and_of_107_taken() {
        let root = tempfile::tempdir().unwrap();
        let scratch = scratch_in(root.path());
        let room = SOCKET_PATH_LIMIT - scratch.path("").as_os_str().len() - 1;
        assert!(scratch.socket_path(&"s".repeat(room)).is_ok());
        let error = scratch.socket_path(&"s".repeat(room + 1)).unwrap_err();
        assert!(matches!(error, ServerError::PathTooLong { bytes: 108, limit: 107, .. }), "{error}");
    }

    #[test]
    fn is_removed_with_its_guard_and_is_private_before() {
        let root = tempfile::tempdir().unwrap();
        let scratch = scratch_in(root.path());
        let folder = scratch.folder().to_owned();
        let secret = scratch.write("secret", "x").unwrap();
        assert_eq!(fs::metadata(secret).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(scratch.path("")).unwrap().mode() & 0o777, 0o700);
        assert_eq!(standing(&folder), Standing::Ours);
        drop(scratch);
        assert!(!folder.exists());
    }
}
