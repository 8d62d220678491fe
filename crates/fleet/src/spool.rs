//! Reports that wait for a collector: a file each, kept before anything is sent, removed when it has arrived.
//!
//! A file is there whole or not at all. Whoever is killed between arrival and removal sends it again, with the same numbers,
//! so that it counts once.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::FleetError;
use crate::batch::Batch;
use crate::lines::{from_lines, to_lines};

/// Most bytes that wait: a report an hour of a large machine for a month.
const MOST_BYTES: u64 = 64 << 20;
/// Files of reports end in this; whatever else lies in the folder is left alone.
const ENDING: &str = "jsonl";
/// A file that could not be read as a report is put aside under this ending, and not tried again.
const BROKEN: &str = "broken";
/// And one that the collector refused under this one.
const REFUSED: &str = "refused";

/// The file that lists the records which reports have told of.
const TOLD: &str = "told-records";

/// A folder of reports.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    /// Whom the reports are for, as the file of told records has it.
    collector: String,
    most_bytes: u64,
}

/// A report that waits.
#[derive(Debug)]
pub struct Waiting {
    /// Its file.
    pub path: PathBuf,
    /// What it says.
    pub batch: Batch,
}

impl Spool {
    /// The spool in this folder, of reports for `collector`: its name, without a password. Nothing is made or read yet.
    pub fn new(folder: &Path, collector: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            collector: collector.to_owned(),
            most_bytes: MOST_BYTES,
        }
    }

    /// Makes the folder where it is not there, for its owner alone.
    ///
    /// # Errors
    /// [`FleetError::Spool`].
    pub fn make(&self) -> Result<(), FleetError> {
        use std::os::unix::fs::DirBuilderExt;
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|source| FleetError::Spool {
            path: self.folder.clone(),
            source,
        })
    }

    /// Keeps a report until it is removed: it is on disk when this comes back.
    ///
    /// # Errors
    /// [`FleetError::Full`], or [`FleetError::Keep`] where the disk does not take it; nothing is left of it then.
    pub fn keep(&self, batch: &Batch) -> Result<(), FleetError> {
        let lines = to_lines(batch);
        let n_bytes = self.n_bytes()?;
        if n_bytes + lines.len() as u64 > self.most_bytes {
            return Err(FleetError::Full {
                path: self.folder.clone(),
                n_bytes,
                limit: self.most_bytes,
            });
        }
        self.write(&format!("{}.{ENDING}", batch.report_id), &lines)
            .map_err(|source| FleetError::Keep {
                path: self.folder.clone(),
                source,
            })
    }

    fn write(&self, name: &str, lines: &str) -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&self.folder)?;
        file.write_all(lines.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(self.folder.join(name))?;
        fs::File::open(&self.folder)?.sync_all()
    }

    /// The reports that wait, the oldest first.
    ///
    /// # Errors
    /// [`FleetError::Spool`], [`FleetError::Take`].
    pub fn waiting(&self) -> Result<Vec<PathBuf>, FleetError> {
        let mut files = self.files()?;
        files.sort();
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }

    /// Reads a report that waits; `None` where it is none and was put aside, or is gone.
    ///
    /// # Errors
    /// [`FleetError::Take`].
    pub fn read(&self, path: &Path) -> Result<Option<Waiting>, FleetError> {
        let failed = |source| FleetError::Take {
            path: path.to_owned(),
            source,
        };
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let Ok(batch) = from_lines(&text) else {
            fs::rename(path, path.with_extension(BROKEN)).map_err(failed)?;
            return Ok(None);
        };
        let path = path.to_owned();
        Ok(Some(Waiting { path, batch }))
    }

    /// Puts a report aside that the collector refused, so that it is not sent again; gives where it lies.
    ///
    /// # Errors
    /// [`FleetError::Take`].
    pub fn put_refused_aside(&self, path: &Path) -> Result<PathBuf, FleetError> {
        let aside = path.with_extension(REFUSED);
        let moved = fs::rename(path, &aside);
        moved.map_err(|source| FleetError::Take {
            path: path.to_owned(),
            source,
        })?;
        Ok(aside)
    }

    /// Removes a report that has arrived.
    ///
    /// # Errors
    /// [`FleetError::Take`].
    pub fn remove(&self, path: &Path) -> Result<(), FleetError> {
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(FleetError::Take {
                path: path.to_owned(),
                source,
            }),
            _ => Ok(()),
        }
    }

    /// Whose records were kept in reports for this collector already: its name and their numbers, one a line beside the
    /// reports. Another collector has heard of none.
    ///
    /// # Errors
    /// [`FleetError::Take`].
    pub fn told_records(&self) -> Result<HashSet<String>, FleetError> {
        let path = self.folder.join(TOLD);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let mut lines = text.lines();
                let is_its = lines.next() == Some(&*self.collector);
                Ok({ lines.filter(|_| is_its) }.map(str::to_owned).collect())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HashSet::new()),
            Err(source) => Err(FleetError::Take { path, source }),
        }
    }

    /// Has these, and none else, be the records that were told.
    ///
    /// # Errors
    /// [`FleetError::Keep`].
    pub fn set_told_records<'a>(
        &self,
        ids: impl Iterator<Item = &'a str>,
    ) -> Result<(), FleetError> {
        let ids: String = ids.flat_map(|id| [id, "\n"]).collect();
        let text = format!("{}\n{ids}", self.collector);
        self.write(TOLD, &text).map_err(|source| FleetError::Keep {
            path: self.folder.clone(),
            source,
        })
    }

    /// Files that were put aside since they are no reports.
    ///
    /// # Errors
    /// [`FleetError::Spool`].
    pub fn n_broken(&self) -> Result<usize, FleetError> {
        let entries = fs::read_dir(&self.folder).map_err(|source| FleetError::Spool {
            path: self.folder.clone(),
            source,
        })?;
        let paths = entries.flatten().map(|entry| entry.path());
        Ok(paths
            .filter(|it| it.extension().is_some_and(|it| it == BROKEN))
            .count())
    }

    fn n_bytes(&self) -> Result<u64, FleetError> {
        let lengths = self.files()?.into_iter().map(|(_, path)| path);
        Ok(lengths
            .filter_map(|it| fs::metadata(it).ok())
            .map(|it| it.len())
            .sum())
    }

    /// Files of reports, each with when it was kept.
    fn files(&self) -> Result<Vec<(std::time::SystemTime, PathBuf)>, FleetError> {
        let failed = |source| FleetError::Spool {
            path: self.folder.clone(),
            source,
        };
        let entries = fs::read_dir(&self.folder).map_err(failed)?;
        let paths = entries.flatten().map(|entry| entry.path());
        let ours = paths.filter(|it| it.extension().is_some_and(|it| it == ENDING));
        let dated = ours.filter_map(|path| {
            let kept = fs::metadata(&path).and_then(|it| it.modified()).ok()?;
            Some((kept, path))
        });
        Ok(dated.collect())
    }
}
