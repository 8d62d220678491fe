//! Writes a record: first completely, then synced to disk, and only then under its final name.
//!
//! After a crash or on a full disk, the file is either the previous record or the new one. Called after each
//! comparison, and never during a slice.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use looptax_model::record::Record;
use serde::Serialize;

use crate::StoreError;
use crate::place::{Existing, Place};

/// Saves a finished record.
///
/// # Errors
/// [`StoreError::AlreadyExists`], `CreateFile`, `WriteFile` or `RenameFile`. After an error, no new file is left.
pub fn save(record: &Record, path: &Path, existing: Existing) -> Result<(), StoreError> {
    write(record, &Place::find(path, existing)?)
}

/// Saves results that are not a record as carefully as [`save`] does. Replaces an existing file.
///
/// # Errors
/// The errors of [`save`], except for [`StoreError::AlreadyExists`].
pub fn save_value(value: &impl Serialize, path: &Path) -> Result<(), StoreError> {
    write(value, &Place::find(path, Existing::Replace)?)
}

/// Saves a text (a page or a list of figures) as carefully as [`save`] does.
///
/// # Errors
/// The errors of [`save`].
pub fn save_text(text: &str, path: &Path, existing: Existing) -> Result<(), StoreError> {
    save_bytes(text.as_bytes(), path, existing)
}

/// Saves bytes that are not text as carefully as [`save`] does.
///
/// # Errors
/// The errors of [`save`].
pub fn save_bytes(bytes: &[u8], path: &Path, existing: Existing) -> Result<(), StoreError> {
    let place = Place::find(path, existing)?;
    write_with(&place, None, |file| file.write_all(bytes))
}

/// Saves a text that programs of other users may read, whatever the umask is. Replaces an existing file.
///
/// # Errors
/// The errors of [`save_value`].
pub fn save_for_all(text: &[u8], path: &Path) -> Result<(), StoreError> {
    let place = Place::find(path, Existing::Replace)?;
    write_with(&place, Some(0o644), |file| file.write_all(text))
}

/// Saves a record repeatedly while it grows.
///
/// If the disk is full, latencies are dropped, and all other data is saved: see [`Saver::lost`].
#[derive(Debug)]
pub struct Saver {
    place: Place,
    lost: Option<StoreError>,
}

impl Saver {
    /// Prepares to save at `path`, and reports immediately if this is not possible. Leaves no file at `path`.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] or `CreateFile`.
    pub fn new(path: &Path, existing: Existing) -> Result<Self, StoreError> {
        Ok(Self { place: Place::find(path, existing)?, lost: None })
    }

    /// Returns why latencies were dropped, if the disk was full. Returns the reason only once.
    pub fn lost(&mut self) -> Option<StoreError> {
        self.lost.take()
    }

    /// Saves `record`. If the destination is a device, each call writes the record to it, so call this function only
    /// once for a device. On a full disk, drops the latencies of the record's last comparison. If that is not enough,
    /// also drops the latencies of earlier comparisons, one after another.
    ///
    /// # Errors
    /// The errors of [`save`]. After an error, the previously saved record stays.
    pub fn save(&mut self, record: &mut Record) -> Result<(), StoreError> {
        if let Err(full) = write(record, &self.place) {
            let Some(smaller) = self.save_smaller(record, &full) else {
                return Err(full);
            };
            self.lost.get_or_insert(full);
            *record = smaller;
        }
        // From now on the file at this path is looptax's own.
        self.place.existing = Existing::Replace;
        Ok(())
    }

    /// Saves the record with the latencies of as many comparisons as still fit on the disk; `None` if the record does
    /// not fit even without latencies.
    fn save_smaller(&self, record: &Record, error: &StoreError) -> Option<Record> {
        let mut smaller = record.clone();
        while error.is_of_full_disk() && forget_last_samples(&mut smaller) {
            if write(&smaller, &self.place).is_ok() {
                return Some(smaller);
            }
        }
        None
    }

    /// The path of the saved record, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}

/// Removes the latencies of the last comparison that has latencies. Returns whether there was such a comparison.
fn forget_last_samples(record: &mut Record) -> bool {
    for comparison in record.comparisons.iter_mut().rev() {
        let mut had_some = false;
        for epoch in &mut comparison.raw.epochs {
            let samples = std::mem::take(&mut epoch.samples);
            had_some |= samples.iter().any(Option::is_some);
        }
        if had_some {
            return true;
        }
    }
    false
}

fn write(record: &impl Serialize, place: &Place) -> Result<(), StoreError> {
    write_with(place, None, |file| {
        serde_json::to_writer(&mut *file, record)?;
        file.write_all(b"\n")
    })
}

/// Writes a file. Without `permissions`, a new file has the permissions that the umask allows. A device keeps its
/// permissions.
fn write_with(
    place: &Place,
    permissions: Option<u32>,
    content: impl Fn(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), StoreError> {
    let path = || place.path().to_owned();
    let failed = |source| StoreError::WriteFile { path: path(), source };
    let not_made = |source| StoreError::CreateFile { path: path(), source };
    let write = |file: &File| {
        let mut buffered = BufWriter::with_capacity(1 << 16, file);
        content(&mut buffered).and_then(|()| buffered.flush())
    };
    if place.output.is_stream() {
        let stream = place.output.open_stream().map_err(not_made)?;
        return write(&stream).map_err(failed);
    }
    let begun = place.output.begin(permissions).map_err(not_made)?;
    write(begun.file()).map_err(failed)?;
    begun.file().sync_all().map_err(failed)?;
    begun.finish(place.existing).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => StoreError::AlreadyExists { path: path() },
        _ => StoreError::RenameFile { path: path(), source },
    })
}
