//! A file as it was found: its bytes, and what tells whether it is still the same.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat, fstat, openat};
use serde::{Deserialize, Serialize};

use crate::SwitchError;
use crate::folder::open_folder;

/// Largest file that is read. Configuration that people write has some kilobytes.
const MOST_BYTES: u64 = 1 << 20;

/// An ordinary file with what it holds, or that there is none yet.
#[derive(Debug)]
pub struct Original {
    pub(crate) path: PathBuf,
    pub(crate) name: OsString,
    pub(crate) bytes: Vec<u8>,
    pub(crate) state: State,
}

/// Whether a file is there.
#[derive(Debug)]
pub(crate) enum State {
    /// It is, and it and the folder that it lies in are held open, so that a path that leads elsewhere meanwhile changes
    /// nothing.
    There {
        /// The folder.
        folder: OwnedFd,
        /// The file.
        file: File,
    },
    /// It is to be made.
    Absent(Created),
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
    /// [`SwitchError::Read`], or [`SwitchError::NoFile`] for a folder, a device or a pipe.
    pub fn read(path: &Path) -> Result<Self, SwitchError> {
        let failed = |source| SwitchError::Read {
            path: path.to_owned(),
            source,
        };
        let real = fs::canonicalize(path).map_err(failed)?;
        let no_file = || SwitchError::NoFile {
            path: path.to_owned(),
        };
        let (folder, name) = real.parent().zip(real.file_name()).ok_or_else(no_file)?;
        let folder = open_folder(folder).map_err(failed)?;
        if !fs::metadata(&real).map_err(failed)?.is_file() {
            return Err(no_file());
        }
        let (file, bytes) = read_at(&folder, name).map_err(failed)?;
        Ok(Self {
            name: name.to_owned(),
            path: real,
            bytes,
            state: State::There { folder, file },
        })
    }

    /// A file that is not there and is to be made like another one: with its owner and permissions. Its folder may be
    /// missing too, and not what that lies in.
    ///
    /// # Errors
    /// [`SwitchError::Exists`] where there is one, or anything else; [`SwitchError::Read`] where that cannot be seen.
    pub fn absent(path: &Path, like: &Self) -> Result<Self, SwitchError> {
        let failed = |source| SwitchError::Read {
            path: path.to_owned(),
            source,
        };
        let no_file = || SwitchError::NoFile {
            path: path.to_owned(),
        };
        let stat = like.stat().map_err(failed)?.ok_or_else(no_file)?;
        let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(no_file)?;
        match fs::symlink_metadata(path) {
            Ok(_) => {
                return Err(SwitchError::Exists {
                    path: path.to_owned(),
                });
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Err(_) => {}
        }
        let with_folder = !folder.is_dir();
        let above = if with_folder {
            folder.parent()
        } else {
            Some(folder)
        };
        let above = fs::canonicalize(above.ok_or_else(no_file)?).map_err(failed)?;
        let folder = match folder.file_name().filter(|_| with_folder) {
            Some(own) => above.join(own),
            None => above,
        };
        Ok(Self {
            path: folder.join(name),
            name: name.to_owned(),
            bytes: Vec::new(),
            state: State::Absent(Created {
                mode: stat.st_mode & 0o777,
                owner: stat.st_uid,
                group: stat.st_gid,
                with_folder,
            }),
        })
    }

    /// Whether there is no such file yet.
    pub fn is_absent(&self) -> bool {
        matches!(self.state, State::Absent(_))
    }

    /// Where it lies, links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds; nothing where there is none.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the system tells of it; `None` where there is none.
    pub(crate) fn stat(&self) -> io::Result<Option<Stat>> {
        match &self.state {
            State::There { file, .. } => Ok(Some(fstat(file)?)),
            State::Absent(_) => Ok(None),
        }
    }
}

/// Opens and reads what is called `name` in the folder now; a link there is not followed.
pub(crate) fn read_at(folder: &OwnedFd, name: &OsStr) -> io::Result<(File, Vec<u8>)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, name, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    (&mut file).take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        let words = "it is larger than a megabyte, which no configuration is";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    Ok((file, bytes))
}
