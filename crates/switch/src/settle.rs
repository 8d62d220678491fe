//! What lies at the place of a switch's file, and what a killed looptax left beside it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;

use crate::create;
use crate::digest::Digest;
use crate::file::read_at;
use crate::folder::{folder_of, part_of, remove};
use crate::journal::{End, PlannedFile, Step};
use crate::replace::exchange_back;

/// What lies at the place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lies {
    /// What lay there before the switch.
    Old,
    /// What the switch wrote.
    New,
    /// Somebody wrote something else since.
    Other,
    /// Nothing that could be read.
    Nothing,
}

/// How a switch stands, as its journal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing was written.
    Planned,
    /// A looptax is at work on it.
    UnderWay,
    /// It was interrupted while files, or the proof, were under way.
    Interrupted,
    /// It has come to an end.
    Ended(End),
}

impl Standing {
    /// Reads it off the steps.
    pub(crate) fn after(steps: &[Step]) -> Self {
        match steps.last() {
            None | Some(Step::Planned { .. } | Step::Moving { .. }) => Self::Planned,
            Some(Step::Ended { how }) => Self::Ended(*how),
            Some(_) => Self::Interrupted,
        }
    }
}

/// Says what lies at a file's place now.
pub(crate) fn look(file: &PlannedFile) -> Lies {
    let folder = match folder_of(&file.path) {
        Err(error) if is_missing(&error) && file.created.is_some() => return Lies::Old,
        Err(_) => return Lies::Nothing,
        Ok(folder) => folder,
    };
    lies(&folder, file.path.file_name().unwrap_or_default(), file)
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn lies(folder: &OwnedFd, name: &OsStr, file: &PlannedFile) -> Lies {
    let bytes = match read_at(folder, name) {
        Err(error) if is_missing(&error) && file.created.is_some() => return Lies::Old,
        Err(_) if file.created.is_some() => return Lies::Other,
        Err(_) => return Lies::Nothing,
        Ok((_, bytes)) => bytes,
    };
    match Digest::of_bytes(&bytes) {
        found if found == file.new => Lies::New,
        found if found == file.old && file.created.is_none() => Lies::Old,
        _ => Lies::Other,
    }
}

/// Takes away the neighbour that a killed looptax left. Where it holds what somebody else wrote in the very instant of
/// the exchange, that is put back into its place instead.
pub(crate) fn settle(file: &PlannedFile) -> io::Result<()> {
    let folder = match folder_of(&file.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let staged = OsStr::new(&file.staged);
    let name = file.path.file_name().unwrap_or_default();
    match remove(&folder, &part_of(staged)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if file.created.is_some() {
        return create::settle(&folder, name, &file.new, staged);
    }
    match (lies(&folder, name, file), lies(&folder, staged, file)) {
        (_, Lies::Old | Lies::New) => remove(&folder, staged),
        (Lies::Old | Lies::New, Lies::Other) => exchange_back(&folder, staged, name),
        // Somebody wrote again since: both are theirs, and neither is taken away.
        (_, Lies::Nothing) | (Lies::Other | Lies::Nothing, Lies::Other) => Ok(()),
    }
}
