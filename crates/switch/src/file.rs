//! A file as it was found: its bytes, and the metadata that shows whether it is still the same.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use looptax_host::{Folder, Link, Links, Walk};
use rustix::fs::{FileType, Stat, fstat};
use serde::{Deserialize, Serialize};

use crate::SwitchError;

/// Largest file that is read. Configuration that people write has some kilobytes.
pub(crate) const MOST_BYTES: u64 = 1 << 20;

/// An ordinary file with what it holds, or that there is none yet.
#[derive(Debug)]
pub struct Original {
    pub(crate) path: PathBuf,
    pub(crate) name: OsString,
    pub(crate) bytes: Vec<u8>,
    pub(crate) state: State,
    links: Vec<Link>,
}

#[derive(Debug)]
pub(crate) enum State {
    /// It is, and it and the folder that it is in are held open, so that a path that leads elsewhere meanwhile changes
    /// nothing.
    There { folder: Folder, file: File },
    Absent {
        /// Its folder, or the one that its folder is to be made in.
        above: Folder,
        created: Created,
    },
}

/// How a file is made that was not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Created {
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
    /// Whether its folder is not there either.
    pub(crate) with_folder: bool,
}

impl Original {
    /// Reads the file that `path` leads to, links followed.
    ///
    /// # Errors
    /// [`SwitchError::Read`], also for a link with which another user leads root to a file that is not hers;
    /// [`SwitchError::NoFile`] for a folder, a device or a pipe.
    pub fn read(path: &Path) -> Result<Self, SwitchError> {
        let failed = |source| SwitchError::Read { path: path.to_owned(), source };
        let walked = Walk::following(Links::All).to(path).map_err(failed)?;
        let last = walked.last.as_ref();
        let last = last.ok_or_else(|| failed(rustix::io::Errno::NOENT.into()))?;
        if last.file_type() != FileType::RegularFile {
            return Err(SwitchError::NoFile { path: path.to_owned() });
        }
        let owner = last.stat.st_uid;
        walked.refuse_lent(|uid| uid == owner).map_err(failed)?;
        let (path, links) = (walked.path(), walked.links);
        let (file, bytes) = { walked.folder.read(&walked.name, MOST_BYTES) }.map_err(failed)?;
        Ok(Self::held(path, walked.folder, file, bytes, links))
    }

    /// The file of that path, which is held open with its folder.
    pub(crate) fn held(path: PathBuf, folder: Folder, file: File, bytes: Vec<u8>, links: Vec<Link>) -> Self {
        Self {
            name: path.file_name().unwrap_or_default().to_owned(),
            path,
            bytes,
            state: State::There { folder, file },
            links,
        }
    }

    /// A file that is not there and is to be made like another one: with its owner and permissions. Its folder may be
    /// missing too, and not what that is in.
    ///
    /// # Errors
    /// [`SwitchError::Exists`] if there is a file or anything else; [`SwitchError::Read`] if that cannot be seen.
    pub fn absent(path: &Path, like: &Self) -> Result<Self, SwitchError> {
        let failed = |source| SwitchError::Read { path: path.to_owned(), source };
        let no_file = || SwitchError::NoFile { path: path.to_owned() };
        let stat = like.stat().map_err(failed)?.ok_or_else(no_file)?;
        let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(no_file)?;
        let walked = Walk::following(Links::All).to(folder).map_err(failed)?;
        walked.refuse_lent(|uid| uid == stat.st_uid).map_err(failed)?;
        let real = walked.path();
        let (above, with_folder) = match walked.last {
            None => (walked.folder, true),
            Some(_) => (Folder::at_end(walked).map_err(failed)?, false),
        };
        if !with_folder && above.look(name).map_err(failed)?.is_some() {
            return Err(SwitchError::Exists { path: path.to_owned() });
        }
        Ok(Self {
            path: real.join(name),
            name: name.to_owned(),
            bytes: Vec::new(),
            state: State::Absent {
                above,
                created: Created { mode: stat.st_mode & 0o777, owner: stat.st_uid, group: stat.st_gid, with_folder },
            },
            links: Vec::new(),
        })
    }

    /// Whether there is no such file yet.
    pub fn is_absent(&self) -> bool {
        matches!(self.state, State::Absent { .. })
    }

    /// Returns the file's path, with links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The links that were followed to it.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the file's contents; empty if there is no file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the system's metadata of the file; `None` if there is no file.
    pub(crate) fn stat(&self) -> io::Result<Option<Stat>> {
        match &self.state {
            State::There { file, .. } => Ok(Some(fstat(file)?)),
            State::Absent { .. } => Ok(None),
        }
    }
}

/// Returns the neighbour's name until it is complete, so that every file with its own name is complete.
pub(crate) fn part_of(staged: &OsStr) -> OsString {
    let mut name = staged.to_owned();
    name.push(".part");
    name
}
