//! Determines the state of a switch's file, and removes the files that a killed looptax left next to it.

use std::ffi::OsStr;
use std::io;

use looptax_host::Folder;
use looptax_model::record::{FileHolds, SwitchStanding};
use rustix::fs::{FileType, Stat, Timespec, Timestamps, UTIME_NOW, fstat, futimens};

use crate::SwitchError;
use crate::create;
use crate::digest::Digest;
use crate::file::{MOST_BYTES, Original, part_of};
use crate::journal::{Identity, PlannedFile, Step};
use crate::replace::exchange_back;

/// Returns the state of a switch according to its steps, if no looptax process is working on it.
pub(crate) fn standing(steps: &[Step]) -> SwitchStanding {
    match steps.last() {
        None | Some(Step::Planned { .. } | Step::Moving { .. }) => SwitchStanding::Planned,
        Some(Step::Ended { how }) => how.standing(),
        Some(_) => SwitchStanding::Interrupted,
    }
}

/// Opens the folder of a file, if it is the same folder in which the switch wrote.
///
/// # Errors
/// The kernel's error, also if the path contains a link; `InvalidData` if the path leads to another folder.
pub(crate) fn folder_of(file: &PlannedFile) -> io::Result<Folder> {
    let folder = Folder::open(file.path.parent().unwrap_or(&file.path))?;
    let found = Identity::from(&folder.stat()?);
    if file.folder.is_some_and(|it| it != found) {
        let words = format!("`{}` is not the folder that the switch wrote in", folder.path().display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    Ok(folder)
}

/// Returns the reason why the object with this `stat` cannot be the switch's file; `None` if it can be.
fn objection(file: &PlannedFile, stat: &Stat) -> Option<String> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Some("a link".to_owned()),
        FileType::Directory => return Some("a folder".to_owned()),
        _ => return Some("not an ordinary file".to_owned()),
    }
    let (found, [user, group]) = ([stat.st_uid, stat.st_gid], file.owner);
    (found != file.owner).then(|| {
        let [its_user, its_group] = found;
        format!("a file of user {its_user} and group {its_group}, not of {user} and {group}")
    })
}

/// Returns the error for a file that was not read or replaced: either the file is not the switch's file, or the kernel
/// gave a reason.
pub(crate) fn not_read(file: &PlannedFile, source: io::Error) -> SwitchError {
    let path = file.path.clone();
    let found = looptax_host::refusal(&source).map(ToString::to_string);
    let found = match source.kind() {
        io::ErrorKind::InvalidData => Some(source.to_string()),
        _ => found,
    };
    match found {
        Some(found) => SwitchError::Foreign { path, found },
        None => SwitchError::Read { path, source },
    }
}

/// Opens the file of a switch as it is at present, together with its folder, so that it can be replaced.
///
/// # Errors
/// [`SwitchError::Foreign`] for a file that the switch cannot have written; [`SwitchError::Read`] otherwise.
pub(crate) fn original_of(file: &PlannedFile) -> Result<Original, SwitchError> {
    let path = || file.path.clone();
    let foreign = |found: String| SwitchError::Foreign { path: path(), found };
    let failed = |source| not_read(file, source);
    let folder = folder_of(file).map_err(failed)?;
    let name = file.path.file_name().unwrap_or_default();
    if let Some(stat) = folder.look(name).map_err(failed)?
        && let Some(found) = objection(file, &stat)
    {
        return Err(foreign(found));
    }
    let (held, bytes) = folder.read(name, MOST_BYTES).map_err(failed)?;
    let stat = fstat(&held).map_err(|error| failed(error.into()))?;
    if let Some(found) = objection(file, &stat) {
        return Err(foreign(found));
    }
    Ok(Original::held(path(), folder, held, bytes, Vec::new()))
}

/// Reports what a file holds now.
pub(crate) fn look(file: &PlannedFile) -> FileHolds {
    let folder = match folder_of(file) {
        Err(error) if is_missing(&error) && file.created.is_some() => return FileHolds::Old,
        Err(error) if is_missing(&error) => return FileHolds::Nothing,
        Err(_) => return FileHolds::Foreign,
        Ok(folder) => folder,
    };
    lies(&folder, file.path.file_name().unwrap_or_default(), file)
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn lies(folder: &Folder, name: &OsStr, file: &PlannedFile) -> FileHolds {
    match folder.look(name) {
        Ok(None) if file.created.is_some() => return FileHolds::Old,
        Ok(Some(stat)) if objection(file, &stat).is_some() => return FileHolds::Foreign,
        Ok(Some(_)) => {}
        Ok(None) | Err(_) => return FileHolds::Nothing,
    }
    let bytes = match folder.read(name, MOST_BYTES) {
        Err(error) if is_missing(&error) && file.created.is_some() => return FileHolds::Old,
        Err(_) if file.created.is_some() => return FileHolds::Other,
        Err(_) => return FileHolds::Nothing,
        Ok((_, bytes)) => bytes,
    };
    match Digest::of_bytes(&bytes) {
        found if found == file.new => FileHolds::New,
        found if found == file.old && file.created.is_none() => FileHolds::Old,
        _ => FileHolds::Other,
    }
}

/// Gives a file its old bytes back, by exchanging it with the old file, which was kept next to it; this works even on a
/// full disk. Returns false, and does nothing, if the file is not as the switch wrote it, or if the file next to it is
/// not the old file.
pub(crate) fn give_back(file: &PlannedFile) -> io::Result<bool> {
    let folder = folder_of(file)?;
    let staged = OsStr::new(&file.staged);
    let name = file.path.file_name().unwrap_or_default();
    if (lies(&folder, name, file), lies(&folder, staged, file)) != (FileHolds::New, FileHolds::Old) {
        return Ok(false);
    }
    // The modification time is renewed, because programs recognise a change by it.
    let (old, bytes) = folder.read(staged, MOST_BYTES)?;
    // Since the file was inspected, another file may have got this name.
    if objection(file, &fstat(&old)?).is_some() || Digest::of_bytes(&bytes) != file.old {
        return Ok(false);
    }
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    futimens(&old, &Timestamps { last_access: now, last_modification: now })?;
    if folder.exchange(staged, name).is_err() {
        return Ok(false);
    }
    if lies(&folder, staged, file) != FileHolds::New {
        exchange_back(&folder, staged, name)?;
        return Ok(false);
    }
    folder.remove(staged)?;
    folder.sync()?;
    Ok(true)
}

/// Removes the old file that was kept next to the new one.
pub(crate) fn let_go(file: &PlannedFile) -> io::Result<()> {
    let folder = folder_of(file)?;
    let staged = OsStr::new(&file.staged);
    if lies(&folder, staged, file) == FileHolds::Old { folder.remove(staged) } else { Ok(()) }
}

/// Removes a file that a finished switch left next to the application's file because the file could not be removed at
/// that time.
pub(crate) fn sweep(file: &PlannedFile) -> io::Result<()> {
    let folder = folder_of(file)?;
    let staged = OsStr::new(&file.staged);
    let part = part_of(staged);
    if folder.look(&part)?.is_some() {
        folder.remove(&part)?;
    }
    let is_ours = match lies(&folder, staged, file) {
        FileHolds::New => true,
        FileHolds::Old => file.created.is_none(),
        _ => false,
    };
    if is_ours { folder.remove(staged) } else { Ok(()) }
}

/// Removes the file that a killed looptax left next to the application's file. If the leftover contains text that
/// another process wrote at the moment of the exchange, swaps the names of the two files back instead.
pub(crate) fn settle(file: &PlannedFile) -> io::Result<()> {
    let folder = match folder_of(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let staged = OsStr::new(&file.staged);
    let name = file.path.file_name().unwrap_or_default();
    match folder.remove(part_of(staged)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if file.created.is_some() {
        return create::settle(&folder, name, &file.new, staged);
    }
    match (lies(&folder, name, file), lies(&folder, staged, file)) {
        (_, FileHolds::Old | FileHolds::New) => folder.remove(staged),
        (FileHolds::Old | FileHolds::New, FileHolds::Other) => exchange_back(&folder, staged, name),
        // Since the exchange, another process has written the file again. Both texts come from that process, so neither
        // text is removed.
        (_, FileHolds::Nothing | FileHolds::Foreign)
        | (FileHolds::Other | FileHolds::Nothing | FileHolds::Foreign, FileHolds::Other) => Ok(()),
    }
}
