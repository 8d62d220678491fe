//! Replaces one file: makes a new file next to the old one, with the old file's attributes and the new bytes, and puts
//! the new file in the old file's place in one step.
//!
//! The two files exchange their names (`RENAME_EXCHANGE`), so the previous file is still available. If the previous
//! file is not the file that was read, another process wrote it in the meantime, and the names are exchanged back. On a
//! file system that cannot exchange names, looptax compares the file once more and renames the new file over it. Text
//! that another process writes between the comparison and the rename is lost.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;

use looptax_host::Folder;
use rustix::fs::{Gid, Mode, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fremovexattr, fsetxattr, fstat};
use rustix::io::Errno;

use crate::SwitchError;
use crate::create::create;
use crate::file::{MOST_BYTES, Original, State, part_of};

/// The kernel's own limits: for the names of all attributes together, and for the value of one attribute.
const MOST_ATTRIBUTE_BYTES: usize = 1 << 16;

/// Replaces the file in `original` with the bytes in `new`. The new bytes are first written to a file next to it,
/// called `staged`.
///
/// Owner, permissions, access lists and every other attribute stay the same. The modification time is new, because
/// programs recognise a change by it.
///
/// If the file did not exist, creates it.
pub(crate) fn replace(original: &Original, new: &[u8], staged: &OsStr) -> Result<(), SwitchError> {
    replace_and(original, new, staged, |folder, old| folder.remove(old))
}

/// Replaces the file like [`replace`], but keeps the old file with the name `staged`, so that putting it back needs no
/// disk space (`settle::give_back`).
pub(crate) fn replace_and_keep(original: &Original, new: &[u8], staged: &OsStr) -> Result<(), SwitchError> {
    replace_and(original, new, staged, |_, _| Ok(()))
}

fn replace_and(
    original: &Original,
    new: &[u8],
    staged: &OsStr,
    with_old: fn(&Folder, &OsStr) -> io::Result<()>,
) -> Result<(), SwitchError> {
    let part = part_of(staged);
    let (folder, file) = match &original.state {
        State::There { folder, file } => (folder, file),
        State::Absent { above, created } => {
            return create((above, &original.path), created, new, staged);
        }
    };
    let failed = |what| move |source: io::Error| SwitchError::Stage { path: original.path.clone(), what, source };
    let made = folder.create(&part, 0o600).map_err(failed("the folder does not accept a new file"))?;
    if let Err((what, error)) = stage((folder, file), made, new) {
        // Even if the part file cannot be removed, the target file is unchanged.
        let _gone = folder.remove(&part);
        return Err(failed(what)(error));
    }
    take_place(original, folder, (&part, staged), with_old)
}

/// Fills the new file and writes it to disk. The error names the action that failed.
fn stage((folder, old): (&Folder, &File), mut file: File, new: &[u8]) -> Result<(), (&'static str, io::Error)> {
    let failed = |what| move |source| (what, source);
    file.write_all(new).map_err(failed("the file was not written completely"))?;
    let stat = fstat(old).map_err(|error| ("the old file cannot be inspected", error.into()))?;
    let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    fchown(&file, Some(owner), Some(group))
        .map_err(|error| ("the new file cannot get the owner of the old file", error.into()))?;
    // A configuration file does not need the setuid and setgid bits, so they are not copied.
    fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o777))
        .map_err(|error| ("the new file's permissions cannot be set", error.into()))?;
    copy_attributes(old, &file).map_err(failed("the old file's attributes cannot be copied"))?;
    file.sync_all().map_err(failed("the new file could not be flushed to the disk"))?;
    folder.sync().map_err(failed("the folder could not be flushed to the disk"))
}

/// Gives `to` the attributes of `from` (access lists, labels, user attributes), and removes attributes that `to` has
/// only from its folder.
fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    let wanted = attribute_names(from)?;
    for name in attribute_names(to)? {
        if !wanted.contains(&name) {
            fremovexattr(to, &*name)?;
        }
    }
    for name in wanted {
        let value = attribute(from, &name)?;
        if attribute(to, &name).ok().as_ref() != Some(&value) {
            fsetxattr(to, &*name, &value, XattrFlags::empty())?;
        }
    }
    Ok(())
}

fn attribute_names(file: &File) -> io::Result<Vec<OsString>> {
    let mut names = vec![0; MOST_ATTRIBUTE_BYTES];
    let n_bytes = match flistxattr(file, &mut names[..]) {
        Err(Errno::NOTSUP) => 0,
        found => found?,
    };
    let names = names[..n_bytes].split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    Ok(names
        // Capabilities are for programs that are executed, so a configuration file does not need them.
        .filter(|name| *name != b"security.capability")
        .map(|name| OsString::from_vec(name.to_vec()))
        .collect())
}

fn attribute(file: &File, name: &OsStr) -> io::Result<Vec<u8>> {
    let mut value = vec![0; MOST_ATTRIBUTE_BYTES];
    let n_bytes = fgetxattr(file, name, &mut value[..])?;
    value.truncate(n_bytes);
    Ok(value)
}

fn take_place(
    original: &Original,
    folder: &Folder,
    (part, staged): (&OsStr, &OsStr),
    with_old: fn(&Folder, &OsStr) -> io::Result<()>,
) -> Result<(), SwitchError> {
    let failed = |source: io::Error| SwitchError::Exchange { path: original.path.clone(), source };
    let name = &*original.name;
    let is_same = |at: &OsStr| match folder.read(at, MOST_BYTES) {
        Ok((_, bytes)) => bytes == original.bytes,
        Err(_) => false,
    };
    if let Err(error) = folder.rename(part, staged) {
        let _ours = folder.remove(part);
        return Err(failed(error));
    }
    let outcome = match folder.exchange(staged, name) {
        Ok(()) if is_same(staged) => with_old(folder, staged),
        Ok(()) => {
            exchange_back(folder, staged, name).map_err(failed)?;
            return Err(SwitchError::Changed { path: original.path.clone() });
        }
        Err(Errno::INVAL | Errno::NOSYS) if is_same(name) => folder.rename(staged, name),
        Err(error) => {
            let is_gone = error == Errno::NOENT || !is_same(name);
            let _ours = folder.remove(staged);
            if is_gone {
                return Err(SwitchError::Changed { path: original.path.clone() });
            }
            return Err(failed(error.into()));
        }
    };
    outcome.and_then(|()| folder.sync()).map_err(failed)
}

/// Gives the old file its name back, and removes looptax's file, which has that name now.
pub(crate) fn exchange_back(folder: &Folder, staged: &OsStr, name: &OsStr) -> io::Result<()> {
    folder.exchange(staged, name)?;
    folder.remove(staged)?;
    folder.sync()
}
