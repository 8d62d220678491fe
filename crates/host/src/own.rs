//! Folders that belong to the caller: records, history, journals, a spool. looptax trusts their contents.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use crate::control::{is_ours, is_privileged, is_writable_by_us_alone};
use crate::folder::Folder;
use crate::refusal::Refusal;
use crate::walk::{Links, Walk};

/// Only the owner has access, because the folders may contain copies of configuration files with passwords.
const PRIVATE: u32 = 0o700;

/// Opens a folder that belongs to the caller or to root. Root's folders are accepted because a service that runs as
/// another user may read what root has recorded.
///
/// # Errors
/// The kernel's error; a [`Refusal`] if another user owns the folder or may write in it, or if the caller has more
/// rights than its user and another user may replace the folder.
pub fn folder(path: &Path) -> io::Result<Folder> {
    walk(path, None)
}

/// Opens the folder like [`folder`]; creates it and all missing folders on the path, accessible only to the owner. When
/// the function returns, the folder's name is on the disk, so files in it survive a loss of power.
///
/// # Errors
/// As [`folder`].
pub fn make_folder(path: &Path) -> io::Result<Folder> {
    walk(path, Some(PRIVATE))
}

fn walk(path: &Path, make: Option<u32>) -> io::Result<Folder> {
    let links = if is_privileged() { Links::Trusted } else { Links::All };
    let mut walk = Walk::following(links);
    walk.make = make;
    let walked = walk.to(path)?;
    let Some(mode) = make else {
        return checked(Folder::at_end(walked)?, false);
    };
    let above = walked.folder.again()?;
    if walked.last.is_some() {
        // Another process may have made the folder and may have been killed before it wrote the folder's name to the
        // disk.
        sync(&above)?;
        return checked(Folder::at_end(walked)?, true);
    }
    // The folders on the path are synced before the last folder is made. Therefore, if the last folder exists, all
    // folders on the path are on the disk.
    for path in above.path().ancestors().skip(1) {
        sync(&Folder::following(links, path)?)?;
    }
    match above.make_folder(&walked.name, mode) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    sync(&above)?;
    checked(above.folder(&walked.name)?, true)
}

/// Syncs a folder's names to the disk, if the caller may do this and the file system supports it.
fn sync(folder: &Folder) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    match folder.sync() {
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | ReadOnlyFilesystem | Unsupported) => {
            Ok(())
        }
        done => done,
    }
}

/// Returns an error for a folder that does not belong to the caller. If nothing is created in the folder (`is_made` is
/// false), a folder of root is accepted, too.
fn checked(folder: Folder, is_made: bool) -> io::Result<Folder> {
    use std::os::fd::AsFd;
    let stat = folder.stat()?;
    let is_own = rustix::process::geteuid().as_raw() == stat.st_uid;
    let is_roots = is_ours(stat.st_uid) && !is_made;
    if !(is_own || is_roots) || !is_writable_by_us_alone(folder.as_fd(), &stat) {
        return Err(not_own(&folder, &stat));
    }
    match folder.stranger() {
        Some(stranger) if is_privileged() => Err(Refusal::Stranger(stranger.clone()).into()),
        _ => Ok(folder),
    }
}

fn not_own(folder: &Folder, stat: &Stat) -> io::Error {
    debug_assert_eq!(FileType::from_raw_mode(stat.st_mode), FileType::Directory);
    Refusal::NotOwn { at: folder.path().to_owned(), owner: stat.st_uid, mode: stat.st_mode & 0o7777 }.into()
}

/// Whether a folder can hold the caller's own data. `false` if another user owns the nearest existing folder of the
/// path, could replace what the caller creates in it, or has put a link into the path. Other problems are reported by
/// the code that uses the folder.
pub fn is_fit(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    for folder in path.ancestors() {
        match Walk::following(Links::Trusted).to(folder) {
            Ok(walked) if walked.last.is_some() => {
                return Folder::at_end(walked).map_or(true, |it| it.keeps(own));
            }
            Err(error) if crate::refusal::refusal(&error).is_some() => return false,
            Ok(_) | Err(_) => {}
        }
    }
    true
}

/// Returns the environment's folder for temporary files. If the caller has more rights than its user and another user
/// could replace files in that folder, returns `/tmp` instead.
pub fn temporary() -> PathBuf {
    let named = std::env::temp_dir();
    let own = rustix::process::geteuid().as_raw();
    let is_fit = |path: &Path| Folder::following(Links::Trusted, path).is_ok_and(|folder| folder.keeps(own));
    if is_privileged() && !is_fit(&named) {
        return PathBuf::from("/tmp");
    }
    named
}

/// Whether a file with this path exists. If the caller has more rights than its user, only root or the caller may have
/// created the file: one of them owns the file, and no other user can create files in its folder.
///
/// # Errors
/// The kernel's error, except for a missing file; a [`Refusal`] for another user's file.
pub fn has_file(path: &Path) -> io::Result<bool> {
    if !is_privileged() {
        return Ok(crate::read::look(path)?.is_some());
    }
    let walked = match Walk::following(Links::Trusted).to(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        walked => walked?,
    };
    let Some(last) = &walked.last else {
        return Ok(false);
    };
    let is_own = is_ours(last.stat.st_uid) && walked.folder.keeps(last.stat.st_uid);
    if is_own {
        return Ok(true);
    }
    Err(Refusal::NotOwn { at: walked.path(), owner: last.stat.st_uid, mode: last.stat.st_mode & 0o7777 }.into())
}
