//! The scratch folder of one private server: made, locked, written to and removed here.
//!
//! ```text
//! looptax-XXXXXXXX/      ours; 0711 when the server has another account, else 0700
//!   lock                 held (flock) by looptax and the reaper while they live
//!   pids                 every process started for this folder
//!   log                  what the server prints
//!   srv/                 the server's own, 0700: data, socket, configuration
//! ```
//! Nothing outside such a folder is ever removed. The server, the reaper and the sweep call it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{
    DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink,
};
use std::path::{Path, PathBuf};

mod abandoned;
mod log;

pub(crate) use abandoned::{
    Standing, is_scratch_path, noted_processes, open_lock, remove_folder, standing,
};

use crate::account::{self, Account};
use crate::process::Process;
use crate::{Reaper, ServerError};
use abandoned::{INNER, LOCK, LOG, PIDS};

/// The longest socket path: `sun_path` has 108 bytes, one of them for the NUL (man unix(7)).
const SOCKET_PATH_LIMIT: usize = 107;

/// Tries at a folder that no sweep takes between its making and its locking; one is nearly always enough.
const LOCK_TRIES: usize = 10;

/// A scratch folder that is ours while this lives, and is removed with it.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    account: Option<Account>,
    reaper: Reaper,
    is_removed: bool,
    _lock: File,
}

impl Scratch {
    /// Makes and locks a folder in `root` and tells the reaper about it.
    pub(crate) fn create(
        root: &Path,
        account: Option<Account>,
        reaper: &Reaper,
    ) -> Result<Self, ServerError> {
        check_root(root)?;
        let (folder, lock) = create_locked(root, reaper)?;
        let scratch = Self {
            folder,
            account,
            reaper: reaper.clone(),
            is_removed: false,
            _lock: lock,
        };
        let mode = if account.is_some() { 0o711 } else { 0o700 };
        fs::set_permissions(&scratch.folder, Permissions::from_mode(mode))
            .map_err(failed("set the mode of", &scratch.folder))?;
        scratch.create_folder("")?;
        Ok(scratch)
    }

    /// A path in the server's own part; the empty name is that part itself.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.folder.join(INNER)
        } else {
            self.folder.join(INNER).join(name)
        }
    }

    /// The same for a socket, refused when it does not fit into an address.
    pub(crate) fn socket_path(&self, name: &str) -> Result<PathBuf, ServerError> {
        let path = self.path(name);
        let bytes = path.as_os_str().as_bytes().len();
        if bytes > SOCKET_PATH_LIMIT {
            return Err(ServerError::PathTooLong {
                path,
                bytes,
                limit: SOCKET_PATH_LIMIT,
            });
        }
        Ok(path)
    }

    /// The whole folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The account that owns the server's part, when it is not ours.
    pub(crate) fn account(&self) -> Option<Account> {
        self.account
    }

    /// Makes a folder of mode 0700 in the server's part, owned by the server's account.
    pub(crate) fn create_folder(&self, name: &str) -> Result<PathBuf, ServerError> {
        let path = self.path(name);
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(failed("create", &path))?;
        self.hand_over(&path)?;
        Ok(path)
    }

    /// Writes a file of mode 0600 in the server's part, owned by the server's account.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, ServerError> {
        let path = self.path(name);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(failed("write", &path))?;
        self.hand_over(&path)?;
        Ok(path)
    }

    /// Makes a link in the server's part to something that is only read.
    pub(crate) fn link(&self, name: &str, target: &Path) -> Result<(), ServerError> {
        let path = self.path(name);
        symlink(target, &path).map_err(failed("link", &path))
    }

    /// Removes a file of the server's part that has served its purpose.
    pub(crate) fn remove_file(&self, name: &str) -> Result<(), ServerError> {
        let path = self.path(name);
        fs::remove_file(&path).map_err(failed("remove", &path))
    }

    /// The log, opened for appending.
    pub(crate) fn open_log(&self) -> Result<File, ServerError> {
        let path = self.folder.join(LOG);
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open", &path))
    }

    /// The log's last lines, without control characters.
    pub(crate) fn log_tail(&self) -> String {
        log::read_tail(&self.folder.join(LOG)).unwrap_or_else(|error| format!("(no log: {error})"))
    }

    /// Writes a started process down, for the reaper and for a later sweep.
    pub(crate) fn note(&self, process: Process) -> Result<(), ServerError> {
        let path = self.folder.join(PIDS);
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| writeln!(file, "{process}"))
            .map_err(failed("write", &path))?;
        self.reaper.watch_process(process)
    }

    /// Tells the reaper that a process is gone.
    pub(crate) fn forget(&self, pid: u32) {
        self.reaper.forget_process(pid);
    }

    /// Removes the folder; does nothing the second time.
    pub(crate) fn remove(&mut self) -> Result<(), ServerError> {
        if self.is_removed {
            return Ok(());
        }
        remove_folder(&self.folder).map_err(failed("remove", &self.folder))?;
        self.is_removed = true;
        self.reaper.forget_folder(&self.folder);
        Ok(())
    }

    fn hand_over(&self, path: &Path) -> Result<(), ServerError> {
        match self.account {
            Some(Account { uid, gid }) => {
                chown(path, Some(uid), Some(gid)).map_err(failed("change the owner of", path))
            }
            None => Ok(()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What fails here is left to the reaper, which was not told that the folder is gone.
        self.remove().ok();
    }
}

/// Refuses a root whose path some server's configuration could not carry unquoted.
fn check_root(root: &Path) -> Result<(), ServerError> {
    let text = root.to_string_lossy();
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    let offending = text.chars().find(|character| !is_plain(*character));
    let offending =
        offending.or_else(|| (!root.is_absolute()).then(|| text.chars().next().unwrap_or(' ')));
    match offending {
        Some(character) => Err(ServerError::PathCharacter {
            path: root.to_owned(),
            character,
        }),
        None => Ok(()),
    }
}

/// Makes a folder and takes its lock, starting anew when a sweep came between the two.
///
/// The reaper hears of the folder before it is there, and again when it can hold the lock.
fn create_locked(root: &Path, reaper: &Reaper) -> Result<(PathBuf, File), ServerError> {
    let mut last = io::Error::from(io::ErrorKind::ResourceBusy);
    for _ in 0..LOCK_TRIES {
        let folder = root.join(abandoned::folder_name(account::random_number()?));
        reaper.watch_folder(&folder)?;
        match DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .and_then(|()| take_lock(&folder))
        {
            Ok(lock) => {
                reaper.watch_folder(&folder)?;
                return Ok((folder, lock));
            }
            Err(error) => last = error,
        }
        // What somebody else has made under this name is not ours to remove after all.
        reaper.forget_folder(&folder);
        let is_passing = [
            io::ErrorKind::AlreadyExists,
            io::ErrorKind::NotFound,
            io::ErrorKind::ResourceBusy,
        ];
        if !is_passing.contains(&last.kind()) || !root.is_dir() {
            break;
        }
    }
    Err(failed("create a folder in", root)(last))
}

/// Creates the lock file and holds it, shared, so that the reaper can hold it too.
fn take_lock(folder: &Path) -> io::Result<File> {
    let path = folder.join(LOCK);
    let lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    lock.try_lock_shared().map_err(|error| match error {
        TryLockError::Error(source) => source,
        TryLockError::WouldBlock => io::ErrorKind::ResourceBusy.into(),
    })?;
    // A sweep may have removed the file before we locked it.
    if fs::metadata(&path)?.ino() == lock.metadata()?.ino() {
        Ok(lock)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Wraps an I/O error with what was being done to which path.
fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ServerError {
    let path = path.to_owned();
    move |source| ServerError::Scratch {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_root_is_refused(root: &str, expected: char) {
        let error = check_root(Path::new(root)).unwrap_err();
        assert!(
            matches!(error, ServerError::PathCharacter { character, .. } if character == expected),
            "{error}"
        );
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
        assert!(
            matches!(
                error,
                ServerError::PathTooLong {
                    bytes: 108,
                    limit: 107,
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn is_removed_with_its_guard_and_is_private_before() {
        let root = tempfile::tempdir().unwrap();
        let scratch = scratch_in(root.path());
        let folder = scratch.folder().to_owned();
        let secret = scratch.write("secret", "x").unwrap();
        assert_eq!(fs::metadata(secret).unwrap().mode() & 0o777, 0o600);
        assert_eq!(
            fs::metadata(scratch.path("")).unwrap().mode() & 0o777,
            0o700
        );
        assert_eq!(standing(&folder), Standing::Ours);
        drop(scratch);
        assert!(!folder.exists());
    }
}
