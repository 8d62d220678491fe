//! Reports that wait for a collector: a file each, kept before anything is sent, removed when it has arrived.
//!
//! A file is there whole or not at all. A run that is killed between arrival and removal sends it again, with the same
//! numbers, so that it counts once.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use looptax_host::output::{self, Existing, Output};
use looptax_host::{Folder, own};
use rustix::fs::FileType;

use crate::FleetError;
use crate::batch::Batch;
use crate::lines::{from_lines, to_lines};

/// Most bytes that wait: a report an hour of a large machine for a month.
const MOST_BYTES: u64 = 64 << 20;
/// Only the owner reads what waits.
const PRIVATE: u32 = 0o600;
/// Files of reports end in this; whatever else is in the folder is left alone.
const ENDING: &str = "jsonl";
/// A file that could not be read as a report is put aside under this ending, and not tried again.
const BROKEN: &str = "broken";
/// And one that the collector refused under this one.
const REFUSED: &str = "refused";

/// The file that lists the records which reports have told of.
const TOLD: &str = "told-records";

#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    /// The collector of the reports, as in the file of sent records.
    collector: String,
    most_bytes: u64,
}

#[derive(Debug)]
pub struct Waiting {
    pub path: PathBuf,
    pub batch: Batch,
}

impl Spool {
    /// The spool in this folder, of reports for `collector`: its name, without a password. Nothing is made or read yet.
    pub fn new(folder: &Path, collector: &str) -> Self {
        Self { folder: folder.to_owned(), collector: collector.to_owned(), most_bytes: MOST_BYTES }
    }

    /// Makes the folder if it is not there, only for its owner; removes the unfinished files of a killed run.
    ///
    /// # Errors
    /// [`FleetError::Spool`].
    pub fn make(&self) -> Result<(), FleetError> {
        let made = own::make_folder(&self.folder);
        let folder = made.map_err(|source| FleetError::Spool { path: self.folder.clone(), source })?;
        // Room is made, and reports go without it.
        let _removed = output::sweep(&folder);
        Ok(())
    }

    /// The folder, held; it is trusted only if it is the caller's own.
    fn open(&self) -> io::Result<Folder> {
        own::folder(&self.folder)
    }

    /// Keeps a report until it is removed: it is on disk when this comes back.
    ///
    /// # Errors
    /// [`FleetError::Full`], or [`FleetError::Keep`] where the disk does not take it; nothing is left of it then.
    pub fn keep(&self, batch: &Batch) -> Result<(), FleetError> {
        let lines = to_lines(batch);
        let n_bytes = self.n_bytes()?;
        if n_bytes + lines.len() as u64 > self.most_bytes {
            return Err(FleetError::Full { path: self.folder.clone(), n_bytes, limit: self.most_bytes });
        }
        self.write(&format!("{}.{ENDING}", batch.report_id), &lines)
            .map_err(|source| FleetError::Keep { path: self.folder.clone(), source })
    }

    fn write(&self, name: &str, lines: &str) -> io::Result<()> {
        let output = Output::within(self.open()?, OsStr::new(name))?;
        let begun = output.begin(Some(PRIVATE))?;
        begun.file().write_all(lines.as_bytes())?;
        begun.file().sync_all()?;
        begun.finish(Existing::Replace)
    }

    /// The reports that wait, the oldest first.
    ///
    /// # Errors
    /// [`FleetError::Spool`], [`FleetError::Take`].
    pub fn waiting(&self) -> Result<Vec<PathBuf>, FleetError> {
        let mut files = self.files()?;
        files.sort();
        let paths = files.into_iter().map(|(_, name, _)| self.folder.join(name));
        Ok(paths.collect())
    }

    /// Reads a report that waits; `None` if it is not a report and was put aside, or is gone.
    ///
    /// # Errors
    /// [`FleetError::Take`].
    pub fn read(&self, path: &Path) -> Result<Option<Waiting>, FleetError> {
        let failed = |source| FleetError::Take { path: path.to_owned(), source };
        let folder = self.open().map_err(failed)?;
        let name = path.file_name().unwrap_or_default();
        let text = match folder.read_own(name, self.most_bytes) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let Ok(batch) = from_lines(&text) else {
            put_aside(&folder, path, BROKEN).map_err(failed)?;
            return Ok(None);
        };
        let path = path.to_owned();
        Ok(Some(Waiting { path, batch }))
    }

    /// Puts a report aside that the collector refused, so that it is not sent again; returns its new path.
    ///
    /// # Errors
    /// [`FleetError::Take`].
    pub fn put_refused_aside(&self, path: &Path) -> Result<PathBuf, FleetError> {
        let moved = self.open().and_then(|it| put_aside(&it, path, REFUSED));
        moved.map_err(|source| FleetError::Take { path: path.to_owned(), source })
    }

    /// Removes a report that has arrived.
    ///
    /// # Errors
    /// [`FleetError::Take`].
    pub fn remove(&self, path: &Path) -> Result<(), FleetError> {
        let name = path.file_name().unwrap_or_default();
        match self.open().and_then(|it| it.remove(name)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(FleetError::Take { path: path.to_owned(), source })
            }
            _ => Ok(()),
        }
    }

    /// Whose records were kept in reports for this collector already: its name and their numbers, one a line beside the
    /// reports. Another collector has heard of none.
    ///
    /// # Errors
    /// [`FleetError::Take`].
    pub fn told_records(&self) -> Result<HashSet<String>, FleetError> {
        let read = |it: Folder| it.read_own(TOLD, self.most_bytes);
        match self.open().and_then(read) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let mut lines = text.lines();
                let is_its = lines.next() == Some(&*self.collector);
                Ok({ lines.filter(|_| is_its) }.map(str::to_owned).collect())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HashSet::new()),
            Err(source) => Err(FleetError::Take { path: self.folder.join(TOLD), source }),
        }
    }

    /// Saves these, and no others, as the records that were sent.
    ///
    /// # Errors
    /// [`FleetError::Keep`].
    pub fn set_told_records<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Result<(), FleetError> {
        let ids: String = ids.flat_map(|id| [id, "\n"]).collect();
        let text = format!("{}\n{ids}", self.collector);
        self.write(TOLD, &text).map_err(|source| FleetError::Keep { path: self.folder.clone(), source })
    }

    /// Files that were put aside since they are not reports.
    ///
    /// # Errors
    /// [`FleetError::Spool`].
    pub fn n_broken(&self) -> Result<usize, FleetError> {
        let names = self.open().and_then(|it| it.names());
        let names = names.map_err(|source| FleetError::Spool { path: self.folder.clone(), source })?;
        Ok(names.iter().filter(|it| has_ending(it, BROKEN)).count())
    }

    fn n_bytes(&self) -> Result<u64, FleetError> {
        let files = self.files()?;
        Ok(files.into_iter().map(|(_, _, n_bytes)| n_bytes).sum())
    }

    /// Files of reports, each with when it was kept, in nanoseconds since 1970, and its bytes.
    fn files(&self) -> Result<Vec<(i128, OsString, u64)>, FleetError> {
        let failed = |source| FleetError::Spool { path: self.folder.clone(), source };
        let folder = self.open().map_err(failed)?;
        let names = folder.names().map_err(failed)?.into_iter();
        let dated = names.filter(|it| has_ending(it, ENDING)).filter_map(|name| {
            let stat = folder.look(&name).ok()??;
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            let kept_ns = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
            is_file.then(|| (kept_ns, name, u64::try_from(stat.st_size).unwrap_or(0)))
        });
        Ok(dated.collect())
    }
}

fn has_ending(name: &OsStr, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == ending)
}

/// Gives a report another ending; gives its path then.
fn put_aside(folder: &Folder, path: &Path, ending: &str) -> io::Result<PathBuf> {
    let aside = path.with_extension(ending);
    let [from, to] = [path, &aside].map(|it| it.file_name().unwrap_or_default());
    folder.rename(from, to)?;
    Ok(aside)
}
