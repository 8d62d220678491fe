//! Writes a record: whole, to disk, and only then under its name.
//!
//! A crash or a full disk at any moment leaves either the record saved before or the new one.
//! Called after each comparison; never while a slice runs.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use looptax_record::{Record, SamplesAt, SamplesFile};
use serde::Serialize;

use crate::StoreError;
use crate::place::{Existing, Place};
use crate::samples::{SamplesWriter, samples_path};

/// Saves a finished record without single latencies.
///
/// # Errors
/// [`StoreError::AlreadyExists`], `CreateFile`, `WriteFile` or `RenameFile`; nothing is left behind.
pub fn save(record: &Record, path: &Path, existing: Existing) -> Result<(), StoreError> {
    write(record, &Place::find(path, existing)?)
}

/// Saves results that are not a record, in the same careful way, over whatever is there.
///
/// # Errors
/// As [`save`], without [`StoreError::AlreadyExists`].
pub fn save_value(value: &impl Serialize, path: &Path) -> Result<(), StoreError> {
    write(value, &Place::find(path, Existing::Replace)?)
}

/// Saves a text, a page or a list of figures, in the same careful way.
///
/// # Errors
/// As [`save`].
pub fn save_text(text: &str, path: &Path, existing: Existing) -> Result<(), StoreError> {
    let place = Place::find(path, existing)?;
    write_with(&place, |file| file.write_all(text.as_bytes()))
}

/// Saves a record again and again while it grows, and the single latencies beside it.
///
/// The record comes first: latencies that cannot be written are left out of it, see [`Saver::lost`].
/// Dropped before any save that worked, it removes the companion file that it made.
#[derive(Debug)]
pub struct Saver {
    place: Place,
    samples: Option<SamplesWriter>,
    lost: Option<StoreError>,
    is_saved: bool,
}

impl Saver {
    /// Prepares for saving at `path`, and finds out at once if that is not possible.
    ///
    /// Makes no file yet; see [`Saver::append`] and [`Saver::save`].
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`], also for the companion file, or `CreateFile`.
    pub fn new(path: &Path, existing: Existing) -> Result<Self, StoreError> {
        let place = Place::find(path, existing)?;
        let samples = match &place {
            Place::File { path, existing } => {
                Some(SamplesWriter::new(samples_path(path), *existing)?)
            }
            Place::Stream(_) => None,
        };
        Ok(Self {
            place,
            samples,
            lost: None,
            is_saved: false,
        })
    }

    /// Appends one block of latencies to the companion file, and says where it lies.
    ///
    /// `None` when the block would take the file beyond [`crate::SAMPLES_CAP_BYTES`], when the record
    /// goes to a device and has no companion, and from the first write on that failed: then these
    /// samples are not kept, nor any since the last save.
    ///
    /// # Units
    /// `latencies_ns` in nanoseconds.
    pub fn append(&mut self, latencies_ns: &[u32]) -> Option<SamplesAt> {
        let samples = self.samples.as_mut().filter(|_| self.lost.is_none())?;
        samples.append(latencies_ns).unwrap_or_else(|error| {
            // All of the comparison in work: what is left must hold its record, twice while it is replaced.
            samples.give_up_unsaved();
            self.lost = Some(error);
            None
        })
    }

    /// Why not all latencies were kept, where a write failed; told once.
    pub fn lost(&mut self) -> Option<StoreError> {
        self.lost.take()
    }

    /// What the record should say about the companion file; `None` while there is none.
    pub fn samples_file(&self) -> Option<SamplesFile> {
        self.samples.as_ref().and_then(SamplesWriter::file)
    }

    /// Saves `record` with its `samples` field set to [`Saver::samples_file`].
    ///
    /// The companion file is on disk before the record that points into it. A device is written to
    /// each time, so there call it once. On a full disk, latencies that no saved record points to make
    /// room for the record, which then says that it has none of them.
    ///
    /// # Errors
    /// As [`save`]; the record saved before stays.
    pub fn save(&mut self, record: &mut Record) -> Result<(), StoreError> {
        let saved = self.save_with_samples(record);
        let unsaved = self.samples.as_mut().filter(|it| it.has_unsaved());
        match (saved, unsaved) {
            (Ok(()), Some(samples)) => {
                samples.mark_saved();
                Ok(())
            }
            (Err(full), Some(samples)) if full.is_of_full_disk() => {
                samples.give_up_unsaved();
                self.lost.get_or_insert(full);
                self.save_with_samples(record)
            }
            (saved, _) => saved,
        }
    }

    fn save_with_samples(&mut self, record: &mut Record) -> Result<(), StoreError> {
        record.samples = self.samples_file();
        if let Some(samples) = &mut self.samples {
            forget_samples(record, samples.end_bytes());
            samples.sync()?;
        }
        write(record, &self.place)?;
        if let Place::File { existing, .. } = &mut self.place {
            *existing = Existing::Replace; // From now on the file there is our own.
        }
        self.is_saved = true;
        Ok(())
    }

    /// Where the record is saved, links resolved.
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}

/// A companion without a record helps nobody.
impl Drop for Saver {
    fn drop(&mut self) {
        if let (false, Some(samples)) = (self.is_saved, &mut self.samples) {
            samples.remove();
        }
    }
}

/// Takes the places of samples out that lie behind `end_bytes` of the companion file.
fn forget_samples(record: &mut Record, end_bytes: u64) {
    let comparisons = record.comparisons.iter_mut();
    let epochs = comparisons.flat_map(|it| it.raw.epochs.iter_mut());
    for at in epochs.flat_map(|it| it.samples.iter_mut()) {
        *at = at.take().filter(|at| at.offset_bytes < end_bytes);
    }
}

fn write(record: &impl Serialize, place: &Place) -> Result<(), StoreError> {
    write_with(place, |file| {
        serde_json::to_writer(&mut *file, record)?;
        file.write_all(b"\n")
    })
}

fn write_with(
    place: &Place,
    content: impl Fn(&mut BufWriter<&File>) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let write = |file: &File, path: &Path| {
        let mut buffered = BufWriter::with_capacity(1 << 16, file);
        content(&mut buffered)
            .and_then(|()| buffered.flush())
            .map_err(|source| StoreError::WriteFile {
                path: path.to_owned(),
                source,
            })
    };
    match place {
        Place::Stream(path) => {
            let opened = OpenOptions::new().write(true).open(path);
            let stream = opened.map_err(|source| StoreError::CreateFile {
                path: path.clone(),
                source,
            })?;
            write(&stream, path)
        }
        Place::File { path, existing } => {
            let temp = place.new_temp()?;
            write(temp.as_file(), path)?;
            let synced = temp.as_file().sync_all();
            synced.map_err(|source| StoreError::WriteFile {
                path: path.clone(),
                source,
            })?;
            move_to(temp, path, *existing)
        }
    }
}

fn move_to(
    temp: tempfile::NamedTempFile,
    path: &PathBuf,
    existing: Existing,
) -> Result<(), StoreError> {
    let moved = match existing {
        Existing::Keep => temp.persist_noclobber(path),
        Existing::Replace => temp.persist(path),
    };
    moved.map_err(|failed| match failed.error.kind() {
        std::io::ErrorKind::AlreadyExists => StoreError::AlreadyExists { path: path.clone() },
        _ => StoreError::RenameFile {
            path: path.clone(),
            source: failed.error,
        },
    })?;
    // The name itself is on disk only when the folder is. Some file systems cannot sync a folder,
    // and the record is complete either way: no reason to fail.
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let _ = File::open(parent.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
    Ok(())
}
