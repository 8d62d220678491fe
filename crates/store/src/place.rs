//! The destination of a record: a regular file, which is replaced as a whole, or a device, to which the record is
//! written.
//!
//! The destination is checked once, before anything is measured, so that a run does not end with an error that it could
//! have reported at its start.

use std::io;
use std::path::{Path, PathBuf};

pub use looptax_host::output::Existing;
use looptax_host::output::Output;

use crate::StoreError;

#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) output: Output,
    /// The path, with symbolic links resolved.
    path: PathBuf,
    /// Whether an existing file may be replaced.
    pub(crate) existing: Existing,
}

impl Place {
    /// Finds out what is at `path`, and checks that a file can be created there.
    pub(crate) fn find(path: &Path, existing: Existing) -> Result<Self, StoreError> {
        let failed = |source: io::Error| StoreError::CreateFile { path: path.to_owned(), source };
        let output = Output::find(path).map_err(failed)?;
        if output.is_there() && existing == Existing::Keep {
            return Err(StoreError::AlreadyExists { path: path.to_owned() });
        }
        if !output.is_stream() {
            // Creates a file to test whether that is possible. The unfinished file is removed immediately.
            output.begin(None).map_err(failed)?;
        }
        let path = if output.is_there() { output.path() } else { path.to_owned() };
        Ok(Self { output, path, existing })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
