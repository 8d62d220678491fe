//! A file made where there was none, and taken away again.
//!
//! It gets its name when it is whole, and only where nobody else has it; it loses it before it is removed, so that what
//! somebody wrote in the very instant can be given it back.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, linkat, openat, renameat,
    renameat_with,
};
use rustix::io::Errno;

use crate::SwitchError;
use crate::digest::Digest;
use crate::file::{Created, read_at};
use crate::folder::{folder_of, open_folder, part_of, remove, sync_folder};

/// Makes a file of that path, and its folder where that is missing too.
pub(crate) fn create(
    path: &Path,
    created: &Created,
    new: &[u8],
    staged: &OsStr,
) -> Result<(), SwitchError> {
    let failed = |what| {
        move |source: io::Error| SwitchError::Stage {
            path: path.to_owned(),
            what,
            source,
        }
    };
    let above = path.parent().unwrap_or(path);
    if created.with_folder {
        make_folder(above).map_err(failed("its folder cannot be made"))?;
    }
    let folder = open_folder(above).map_err(failed("its folder cannot be opened"))?;
    let part = part_of(staged);
    let done = stage(&folder, &part, created, new);
    let done = done.map_err(failed("it cannot be written there"));
    let named = done.and_then(|()| match give_name(&folder, &part, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(SwitchError::Exists {
            path: path.to_owned(),
        }),
        named => named.map_err(failed("it cannot be given its name")),
    });
    if named.is_err() {
        // Ours: no other program makes such names.
        let _gone = remove(&folder, &part);
        remove_folder(path, created);
    }
    named
}

/// Takes away what [`create`] made, where it still holds that, and the folder where it is empty then.
pub(crate) fn uncreate(
    path: &Path,
    created: &Created,
    new: &Digest,
    staged: &OsStr,
) -> io::Result<()> {
    let folder = folder_of(path)?;
    let name = path.file_name().unwrap_or_default();
    // Nobody else makes names like that one.
    renameat(&folder, name, &folder, staged)?;
    settle(&folder, name, new, staged)?;
    remove_folder(path, created);
    Ok(())
}

/// Ends what was begun with the name that a file has while it is taken away: ours goes, another's gets its name back.
pub(crate) fn settle(
    folder: &OwnedFd,
    name: &OsStr,
    new: &Digest,
    staged: &OsStr,
) -> io::Result<()> {
    match read_at(folder, staged) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok((_, bytes)) if Digest::of_bytes(&bytes) == *new => remove(folder, staged)?,
        // Where somebody wrote once more since, both are theirs.
        _ => match renameat_with(folder, staged, folder, name, RenameFlags::NOREPLACE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        },
    }
    sync_folder(folder)
}

/// Removes the folder that was made with the file, where nothing else is in it.
pub(crate) fn remove_folder(path: &Path, created: &Created) {
    let Some(folder) = path.parent().filter(|_| created.with_folder) else {
        return;
    };
    if fs::remove_dir(folder).is_ok()
        && let Some(above) = folder.parent()
    {
        let _synced = File::open(above).and_then(|it| it.sync_all());
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    folder
        .parent()
        .map_or(Ok(()), |above| File::open(above)?.sync_all())
}

fn stage(folder: &OwnedFd, part: &OsStr, created: &Created, new: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, part, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(new)?;
    let (owner, group) = (Uid::from_raw(created.owner), Gid::from_raw(created.group));
    fchown(&file, Some(owner), Some(group))?;
    fchmod(&file, Mode::from_raw_mode(created.mode))?;
    file.sync_all()
}

fn give_name(folder: &OwnedFd, part: &OsStr, path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default();
    match renameat_with(folder, part, folder, name, RenameFlags::NOREPLACE) {
        // A file system that cannot do that can give a second name.
        Err(Errno::INVAL | Errno::NOSYS) => {
            linkat(folder, part, folder, name, AtFlags::empty())?;
            remove(folder, part)?;
        }
        named => named?,
    }
    sync_folder(folder)
}
