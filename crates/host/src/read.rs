//! Reads files whose path a person or another program gave. Reads only regular files, each as a whole, up to a size
//! limit.

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

/// The maximum number of bytes read from a system file; the list of a machine's accounts is smaller.
const MOST_SYSTEM_BYTES: u64 = 64 << 20;
/// The maximum number of bytes read from a configuration file; people write smaller ones.
const MOST_CONFIG_BYTES: u64 = 16 << 20;

/// Reads the regular file to which a path leads, following links.
///
/// # Errors
/// The kernel's error; `InvalidInput` for anything other than a regular file; `FileTooLarge` for more than
/// `most_bytes`.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    read_whole(&mut open(path)?, most_bytes)
}

/// Reads the regular file to which a path leads, as text.
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

/// Reads a system file such as `/etc/passwd`. Invalid UTF-8 is replaced; on failure the text is empty.
pub fn system_text(path: &str) -> String {
    let bytes = read(Path::new(path), MOST_SYSTEM_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Opens the regular file to which a path leads, following links.
///
/// # Errors
/// As [`read`].
pub fn open(path: &Path) -> io::Result<File> {
    open_by(&Walk::following(Links::All), path)
}

/// Opens the regular file to which a walk leads.
///
/// # Errors
/// The kernel's error; `InvalidInput` for anything other than a regular file; or a refusal.
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
    // If a user's link leads root to a file that this user could not open, the file is refused.
    let is_readable_by = |uid| Viewer::without_groups(uid).may_read(&last.stat);
    walked.refuse_lent(is_readable_by)?;
    if last.is_magic {
        // A caller that passes a link such as `/proc/self/fd/3` means the file that the kernel holds open.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        return Ok(File::from(openat(&walked.folder, &*walked.name, flags, Mode::empty())?));
    }
    if walked.name == "." {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let file = walked.folder.open_file(&walked.name)?;
    // Check that no other file has got this name since the walk.
    let stat = rustix::fs::fstat(&file)?;
    if (stat.st_dev, stat.st_ino) != (last.stat.st_dev, last.stat.st_ino) {
        let words = format!("`{}` was replaced by another file while looptax opened it", walked.path().display());
        return Err(io::Error::other(words));
    }
    Ok(file)
}

/// Returns the metadata of the file to which a path leads at present, following links; `None` if there is no file. Use
/// this only to inspect: a file that is used afterwards has to be opened once, and checked by its descriptor.
///
/// # Errors
/// The kernel's error, except for a missing file.
pub fn look(path: &Path) -> io::Result<Option<Stat>> {
    looked(rustix::fs::stat(path))
}

/// Does the same as [`look`], but if the path ends in a link, returns the metadata of the link itself.
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

/// Checks whether the caller has this access to the file to which a path leads, following links. Only for display.
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

/// Whether a path leads to a regular file.
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

/// Whether something may exist at the path; `false` only if it is certain that nothing exists there.
pub fn may_exist(path: &Path) -> bool {
    !matches!(look(path), Ok(None))
}

/// Whether something exists at the path and the caller can see it.
pub fn exists(path: &Path) -> bool {
    matches!(look(path), Ok(Some(_)))
}

/// Returns the path with all links resolved, as they are at present. Only for display and comparison.
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

/// Returns the target of a link.
///
/// # Errors
/// The kernel's error.
pub fn link(path: &Path) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let text = rustix::fs::readlink(path, Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(text.into_bytes())))
}

/// Returns the paths of the files in a folder, sorted; follows links on the path to the folder.
///
/// # Errors
/// The kernel's error.
pub fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Folder::following(Links::All, path)?.names()?;
    names.sort();
    Ok(names.into_iter().map(|name| path.join(name)).collect())
}

/// Opens a folder with `O_PATH`; nothing can be read or written through the descriptor.
///
/// # Errors
/// The kernel's error.
pub(crate) fn open_path(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
