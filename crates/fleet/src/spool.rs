//! Reports that wait for a collector. Each report is stored in a file before anything is sent, and the file is removed
//! after the report has arrived.
//!
//! A file is either complete or missing. If a run is killed after a report has arrived and before its file is removed,
//! the report is sent again with the same ids. A report that arrives twice counts once.

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

/// Maximum size of all waiting reports in bytes: enough for a large machine that makes a report every hour for a month.
const MOST_BYTES: u64 = 64 << 20;
/// The mode of a waiting report's file: only the owner may read it.
const PRIVATE: u32 = 0o600;
/// The file name extension of reports; other files in the folder are not touched.
const ENDING: &str = "jsonl";
/// The extension that a file gets if it could not be read as a report; such a file is not sent again.
const BROKEN: &str = "broken";
/// The extension that a report gets if the collector refused it.
const REFUSED: &str = "refused";

/// The file with the ids of the records that were already included in reports.
const TOLD: &str = "told-records";

#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    /// The collector of the reports, as written in the first line of the file [`TOLD`].
    collector: String,
    most_bytes: u64,
}

#[derive(Debug)]
pub struct Waiting {
    pub path: PathBuf,
    pub batch: Batch,
}

impl Spool {
    /// Makes the spool in this folder, for reports to `collector`, which is the collector's name without a password. No
    /// folder is made and no file is read yet.
    pub fn new(folder: &Path, collector: &str) -> Self {
        Self { folder: folder.to_owned(), collector: collector.to_owned(), most_bytes: MOST_BYTES }
    }

    /// Makes the folder if it does not exist, with access only for its owner; removes unfinished files of a run that
    /// was killed.
    ///
    /// # Errors
    /// [`FleetError::Spool`].
    pub fn make(&self) -> Result<(), FleetError> {
        let made = own::make_folder(&self.folder);
        let folder = made.map_err(|source| FleetError::Spool { path: self.folder.clone(), source })?;
        // An error is ignored: removing these files only frees space, and reports can be sent even if the files remain.
        let _removed = output::sweep(&folder);
        Ok(())
    }

    /// Opens the folder, which must belong to the caller.
    fn open(&self) -> io::Result<Folder> {
        own::folder(&self.folder)
    }

    /// Stores a report until [`Self::remove`] is called. When this function returns, the report is on disk.
    ///
    /// # Errors
    /// [`FleetError::Full`]; [`FleetError::Spool`] if the folder cannot be read; [`FleetError::Keep`] if the report
    /// cannot be written. After an error, no part of the report is stored.
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

    /// Returns the files of the waiting reports, the oldest first.
    ///
    /// # Errors
    /// [`FleetError::Spool`], [`FleetError::Take`].
    pub fn waiting(&self) -> Result<Vec<PathBuf>, FleetError> {
        let mut files = self.files()?;
        files.sort();
        let paths = files.into_iter().map(|(_, name, _)| self.folder.join(name));
        Ok(paths.collect())
    }

    /// Reads a waiting report; `None` if the file is not a report and was put aside, or if it no longer exists.
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

    /// Puts aside a report that the collector refused, so that it is not sent again; returns its new path.
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

    /// Returns the ids of the records that were already stored in reports for this collector. They are in a file next
    /// to the reports: first the collector's name, then one id per line. If the file is for another collector, the
    /// result is empty.
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

    /// Saves these ids as the complete list of records that were included in reports.
    ///
    /// # Errors
    /// [`FleetError::Keep`].
    pub fn set_told_records<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Result<(), FleetError> {
        let ids: String = ids.flat_map(|id| [id, "\n"]).collect();
        let text = format!("{}\n{ids}", self.collector);
        self.write(TOLD, &text).map_err(|source| FleetError::Keep { path: self.folder.clone(), source })
    }

    /// Returns the number of files that were put aside because they are not reports.
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

    /// Returns for each report's file the time when it was stored, in nanoseconds since 1970, its name, and its size in
    /// bytes.
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

/// Changes the extension of a report's file; returns its new path.
fn put_aside(folder: &Folder, path: &Path, ending: &str) -> io::Result<PathBuf> {
    let aside = path.with_extension(ending);
    let [from, to] = [path, &aside].map(|it| it.file_name().unwrap_or_default());
    folder.rename(from, to)?;
    Ok(aside)
}
