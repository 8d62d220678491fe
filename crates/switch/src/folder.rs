//! Names in a folder that is held open: a neighbour's, and how one goes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, open, unlinkat};

/// Opens the folder that a file lies in, or is to lie in.
pub(crate) fn folder_of(path: &Path) -> io::Result<OwnedFd> {
    open_folder(path.parent().unwrap_or(path))
}

pub(crate) fn open_folder(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(open(folder, flags, Mode::empty())?)
}

/// What a neighbour is called until it is whole, so that whatever has its own name is.
pub(crate) fn part_of(staged: &OsStr) -> OsString {
    let mut name = staged.to_owned();
    name.push(".part");
    name
}

pub(crate) fn remove(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(folder, name, AtFlags::empty())?)
}

/// Has the names in it on the disk.
pub(crate) fn sync_folder(folder: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::fsync(folder)?)
}
