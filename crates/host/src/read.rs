//! Files whose path a person or another program gave: read whole, up to a limit, and only if they are ordinary files.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, Stat, openat};
use rustix::io::Errno;

use crate::folder::{Folder, read_whole};
use crate::refusal::Refusal;
use crate::viewer::Viewer;
use crate::walk::{Links, Walk, Walked};

/// More than the accounts of any machine.
const MOST_SYSTEM_BYTES: u64 = 64 << 20;
/// More than any configuration that people write.
const MOST_CONFIG_BYTES: u64 = 16 << 20;

/// Reads the ordinary file that a path leads to, links followed.
///
/// # Errors
/// The kernel's error; `InvalidInput` for anything but an ordinary file, `FileTooLarge` for more than `most_bytes`.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    read_whole(&mut open(path)?, most_bytes)
}

/// Reads the ordinary file that a path leads to as text.
///
/// # Errors
/// As [`read`], and `InvalidData` for bytes that are not UTF-8.
pub fn text(path: &Path, most_bytes: u64) -> io::Result<String> {
    let bytes = read(path, most_bytes)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a configuration file that people wrote, as text.
///
/// # Errors
/// As [`text`].
pub fn config(path: &Path) -> io::Result<String> {
    text(path, MOST_CONFIG_BYTES)
}

/// Reads a system file such as `/etc/passwd`, with invalid UTF-8 replaced; empty on failure.
pub fn system_text(path: &str) -> String {
    let bytes = read(Path::new(path), MOST_SYSTEM_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Opens the ordinary file that a path leads to, links followed.
///
/// # Errors
/// As [`read`].
pub fn open(path: &Path) -> io::Result<File> {
    open_by(&Walk::following(Links::All), path)
}

/// Opens the ordinary file that a walk leads to.
///
/// # Errors
/// The kernel's error, `InvalidInput` for anything but an ordinary file, or a refusal.
pub fn open_by(walk: &Walk<'_>, path: &Path) -> io::Result<File> {
    let walked = walk.to(path)?;
    if let (Some(viewer), Some(last)) = (walk.viewer, &walked.last)
        && !viewer.may_read(&last.stat)
    {
        let (at, viewer) = (walked.path(), viewer.uid);
        return Err(Refusal::Unreadable { at, viewer }.into());
    }
    opened(&walked)
}

fn opened(walked: &Walked) -> io::Result<File> {
    let last = walked.last.as_ref().ok_or(Errno::NOENT)?;
    // Root does not show a user, through that user's link, a file that the user could not open.
    let is_readable_by = |uid| Viewer::without_groups(uid).may_read(&last.stat);
    walked.refuse_lent(is_readable_by)?;
    if last.is_magic {
        // For a link such as `/proc/self/fd/3`, which the caller named, the file is the one that the kernel holds.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        return Ok(File::from(openat(&walked.folder, &*walked.name, flags, Mode::empty())?));
    }
    if walked.name == "." {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let file = walked.folder.open_file(&walked.name)?;
    // Check that no other file has taken the name since the walk.
    let stat = rustix::fs::fstat(&file)?;
    if (stat.st_dev, stat.st_ino) != (last.stat.st_dev, last.stat.st_ino) {
        let words = format!("`{}` was replaced by another file while looptax opened it", walked.path().display());
        return Err(io::Error::other(words));
    }
    Ok(file)
}

/// The file that a path leads to now, links followed; `None` if there is nothing. Only for looking: a file that is used
/// afterwards is opened once, and checked by its descriptor.
///
/// # Errors
/// The kernel's error, except for a missing file.
pub fn look(path: &Path) -> io::Result<Option<Stat>> {
    looked(rustix::fs::stat(path))
}

/// As [`look`], but a link at the end itself.
///
/// # Errors
/// As [`look`].
pub fn look_at_link(path: &Path) -> io::Result<Option<Stat>> {
    looked(rustix::fs::lstat(path))
}

fn looked(stat: Result<Stat, Errno>) -> io::Result<Option<Stat>> {
    match stat {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether the caller has this access to the file that a path leads to, links followed. Only for display.
///
/// # Errors
/// The kernel's error.
pub fn may(path: &Path, access: Access) -> Result<(), Errno> {
    rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS)
}

/// Whether a path leads to a folder.
pub fn is_folder(path: &Path) -> bool {
    is(path, FileType::Directory)
}

/// Whether a path leads to an ordinary file.
pub fn is_file(path: &Path) -> bool {
    is(path, FileType::RegularFile)
}

/// Whether a path leads to a socket.
pub fn is_socket(path: &Path) -> bool {
    is(path, FileType::Socket)
}

fn is(path: &Path, wanted: FileType) -> bool {
    look(path).is_ok_and(|found| found.is_some_and(|it| FileType::from_raw_mode(it.st_mode) == wanted))
}

/// Whether anything exists at the path; `false` only if nothing certainly does.
pub fn may_exist(path: &Path) -> bool {
    !matches!(look(path), Ok(None))
}

/// Whether something exists at the path, as far as the caller can see.
pub fn exists(path: &Path) -> bool {
    matches!(look(path), Ok(Some(_)))
}

/// The path with all links resolved, as it is now. Only for display and comparison.
///
/// # Errors
/// The kernel's error.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let walked = Walk::following(Links::All).to(path)?;
    if walked.last.is_none() {
        return Err(Errno::NOENT.into());
    }
    Ok(walked.path())
}

/// The target of a link.
///
/// # Errors
/// The kernel's error.
pub fn link(path: &Path) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let text = rustix::fs::readlink(path, Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(text.into_bytes())))
}

/// The paths in a folder, in order; links on the way are followed.
///
/// # Errors
/// The kernel's error.
pub fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Folder::following(Links::All, path)?.names()?;
    names.sort();
    Ok(names.into_iter().map(|name| path.join(name)).collect())
}

/// Opens a folder with `O_PATH`: the descriptor can neither be read nor written.
///
/// # Errors
/// The kernel's error.
pub(crate) fn open_path(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
