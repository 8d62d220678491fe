//! A file as it was found: its bytes, and what tells whether it is still the same.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat, fstat, open, openat};

use crate::SwitchError;

/// Largest file that is read. Configuration that people write has some kilobytes.
const MOST_BYTES: u64 = 1 << 20;

/// An ordinary file with what it holds, and the folder that it lies in.
///
/// The folder is held open, so that a path that leads elsewhere meanwhile changes nothing.
#[derive(Debug)]
pub struct Original {
    pub(crate) path: PathBuf,
    pub(crate) folder: OwnedFd,
    pub(crate) name: OsString,
    pub(crate) file: File,
    pub(crate) bytes: Vec<u8>,
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
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = open(folder, flags, Mode::empty());
        let folder = opened.map_err(|error| failed(error.into()))?;
        if !fs::metadata(&real).map_err(failed)?.is_file() {
            return Err(no_file());
        }
        let (file, bytes) = read_at(&folder, name).map_err(failed)?;
        Ok(Self {
            name: name.to_owned(),
            path: real,
            folder,
            file,
            bytes,
        })
    }

    /// Where it lies, links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn stat(&self) -> io::Result<Stat> {
        Ok(fstat(&self.file)?)
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
