//! Where a record goes: a regular file that is replaced as a whole, or a device that is written to.
//!
//! Decides once, before anything is measured, so that a run does not end in an error that was there
//! at its start. A device must never be renamed over, and a link stays a link.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::StoreError;

/// What to do about a file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone and give an error.
    Keep,
    /// Replace it.
    Replace,
}

/// Where a record goes.
#[derive(Debug)]
pub(crate) enum Place {
    /// A regular file, there or not.
    File {
        /// Links resolved.
        path: PathBuf,
        /// Whether a file there may be replaced.
        existing: Existing,
    },
    /// A device or pipe that is there already.
    Stream(PathBuf),
}

impl Place {
    /// Finds out what `path` is and whether a file can be made there.
    pub(crate) fn find(path: &Path, existing: Existing) -> Result<Self, StoreError> {
        let found = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
                let place = Self::File {
                    path: path.to_owned(),
                    existing,
                };
                place.new_temp()?;
                return Ok(place);
            }
            Err(source) => {
                return Err(StoreError::CreateFile {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        if found.is_dir() {
            let source = io::Error::from(ErrorKind::IsADirectory);
            return Err(StoreError::CreateFile {
                path: path.to_owned(),
                source,
            });
        }
        if !found.is_file() {
            return Ok(Self::Stream(path.to_owned()));
        }
        if existing == Existing::Keep {
            return Err(StoreError::AlreadyExists {
                path: path.to_owned(),
            });
        }
        let resolved = fs::canonicalize(path).map_err(|source| StoreError::CreateFile {
            path: path.to_owned(),
            source,
        })?;
        let place = Self::File {
            path: resolved,
            existing,
        };
        place.new_temp()?;
        Ok(place)
    }

    /// The path, links resolved.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } | Self::Stream(path) => path,
        }
    }

    /// A new empty file beside the place, removed again unless it is moved there.
    pub(crate) fn new_temp(&self) -> Result<NamedTempFile, StoreError> {
        let path = self.path();
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".looptax-").suffix(".tmp");
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder
            .tempfile_in(parent.unwrap_or(Path::new(".")))
            .map_err(|error| StoreError::CreateFile {
                path: path.to_owned(),
                source: plain(&error),
            })
    }
}

/// The system's own error, without the name of the temporary file around it.
fn plain(error: &io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.source());
    let os = inner.and_then(|inner| inner.downcast_ref::<io::Error>());
    match os.unwrap_or(error).raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
