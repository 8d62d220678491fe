//! A file as looptax found it: its bytes, and the metadata that shows whether the file has changed since.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use looptax_host::{Folder, Link, Links, Walk};
use rustix::fs::{FileType, Stat, fstat};
use serde::{Deserialize, Serialize};

use crate::SwitchError;

/// The size of the largest file that is read. Configuration files that people write have a few kilobytes.
pub(crate) const MOST_BYTES: u64 = 1 << 20;

/// A regular file with its contents, or the path of a file that does not exist yet.
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
    /// The file exists. The file and its folder are held open, so that looptax stays with this file even if the path
    /// leads elsewhere later.
    There { folder: Folder, file: File },
    Absent {
        /// The file's folder, or the parent of that folder if the folder is missing too.
        above: Folder,
        created: Created,
    },
}

/// The attributes that a file gets when it is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Created {
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
    /// Whether the file's folder does not exist either.
    pub(crate) with_folder: bool,
}

impl Original {
    /// Reads the file to which `path` leads, following links.
    ///
    /// # Errors
    /// [`SwitchError::Read`], also if looptax runs as root and another user's link leads to a file that the link's
    /// owner does not own; [`SwitchError::NoFile`] for a folder, a device or a pipe.
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

    /// Returns a file that is held open together with its folder.
    pub(crate) fn held(path: PathBuf, folder: Folder, file: File, bytes: Vec<u8>, links: Vec<Link>) -> Self {
        Self {
            name: path.file_name().unwrap_or_default().to_owned(),
            path,
            bytes,
            state: State::There { folder, file },
            links,
        }
    }

    /// Returns a file that does not exist yet and will get the owner and permissions of the file `like`. The new file's
    /// folder may be missing too, but not that folder's parent.
    ///
    /// # Errors
    /// [`SwitchError::Exists`] if a file with this path exists already; [`SwitchError::Read`] if that cannot be
    /// determined.
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

    /// Whether the file does not exist yet.
    pub fn is_absent(&self) -> bool {
        matches!(self.state, State::Absent { .. })
    }

    /// Returns the file's path after all links were followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the links that led to the file.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the file's contents; empty if there is no file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the metadata that `fstat` gives for the file; `None` if there is no file.
    pub(crate) fn stat(&self) -> io::Result<Option<Stat>> {
        match &self.state {
            State::There { file, .. } => Ok(Some(fstat(file)?)),
            State::Absent { .. } => Ok(None),
        }
    }
}

/// Returns the name that a new file has while it is incomplete. A new file whose name does not end in `.part` is
/// therefore complete.
pub(crate) fn part_of(staged: &OsStr) -> OsString {
    let mut name = staged.to_owned();
    name.push(".part");
    name
}
