//! Creates a file that did not exist, and removes it again.
//!
//! A file gets its final name when it is complete, and only if no other file has that name. To remove a file, looptax
//! renames it first and then checks its contents: text that another process wrote at that moment can be put back.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use looptax_host::{Folder, plain};
use rustix::fs::{Gid, Mode, Uid, fchmod, fchown};

use crate::SwitchError;
use crate::digest::Digest;
use crate::file::{Created, MOST_BYTES, part_of};

/// The mode of a file until it has its final owner and mode: only the owner may read it.
const PRIVATE: u32 = 0o600;

/// Creates a file at `path`, and its folder if the folder is missing too. `above` is the file's folder, or the parent
/// of the missing folder.
pub(crate) fn create(
    (above, path): (&Folder, &Path),
    created: &Created,
    new: &[u8],
    staged: &OsStr,
) -> Result<(), SwitchError> {
    let failed = |what| move |source: io::Error| SwitchError::Stage { path: path.to_owned(), what, source };
    let made;
    let folder = if created.with_folder {
        made = make_folder(above, path).map_err(failed("the folder cannot be created"))?;
        &made
    } else {
        above
    };
    let part = part_of(staged);
    let done = stage(folder, &part, created, new);
    let done = done.map_err(failed("the file cannot be written there"));
    let name = path.file_name().unwrap_or_default();
    let named = done.and_then(|()| match folder.rename_new(&part, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(SwitchError::Exists { path: path.to_owned() })
        }
        named => { named.and_then(|()| folder.sync()) }.map_err(failed("the file cannot be renamed to its final name")),
    });
    if named.is_err() {
        // The part file belongs to looptax: no other program uses the names that `part_of` returns.
        let _gone = folder.remove(&part);
        let _gone = remove_folder(path, created);
    }
    named
}

/// Removes what [`create`] made: the file if its contents are unchanged, and then the folder if it is empty.
pub(crate) fn uncreate(
    (folder, path): (&Folder, &Path),
    created: &Created,
    new: &Digest,
    staged: &OsStr,
) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default();
    // No other program makes a file with a name such as `staged`, so this rename replaces nothing.
    folder.rename(name, staged)?;
    settle(folder, name, new, staged)?;
    remove_folder(path, created)
}

/// Finishes the removal of a file that was renamed to `staged`. If the file's contents are those that looptax wrote,
/// deletes the file; otherwise gives the file its old name back.
pub(crate) fn settle(folder: &Folder, name: &OsStr, new: &Digest, staged: &OsStr) -> io::Result<()> {
    let found = folder.read(staged, MOST_BYTES);
    match &found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok((_, bytes)) if Digest::of_bytes(bytes) == *new => folder.remove(staged)?,
        // If another file has that name by now, looptax wrote neither of the two files, and both stay.
        _ => match folder.rename_new(staged, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            named => named?,
        },
    }
    folder.sync()?;
    match found {
        // The file could not be read and may be the one that looptax wrote; it has its old name again.
        Err(error) if !matches!(error.kind(), io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidInput) => Err(error),
        _ => Ok(()),
    }
}

/// Removes the folder that was made with the file, if the folder is empty and not in use.
pub(crate) fn remove_folder(path: &Path, created: &Created) -> io::Result<()> {
    use io::ErrorKind::{DirectoryNotEmpty, NotFound, ResourceBusy};
    let folder = path.parent().filter(|_| created.with_folder);
    let Some((above, name)) = folder.and_then(|it| it.parent().zip(it.file_name())) else {
        return Ok(());
    };
    let removed = Folder::open(above).and_then(|above| {
        above.remove_folder(name)?;
        above.sync()
    });
    match removed {
        Err(error) if matches!(error.kind(), DirectoryNotEmpty | NotFound | ResourceBusy) => Ok(()),
        done => done,
    }
}

fn make_folder(above: &Folder, path: &Path) -> io::Result<Folder> {
    let name = path.parent().and_then(Path::file_name).unwrap_or_default();
    match above.make_folder(plain(name)?, 0o755) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    above.sync()?;
    above.folder(name)
}

fn stage(folder: &Folder, part: &OsStr, created: &Created, new: &[u8]) -> io::Result<()> {
    let mut file = folder.create(part, PRIVATE)?;
    file.write_all(new)?;
    let (owner, group) = (Uid::from_raw(created.owner), Gid::from_raw(created.group));
    fchown(&file, Some(owner), Some(group))?;
    fchmod(&file, Mode::from_raw_mode(created.mode & 0o777))?;
    file.sync_all()
}
