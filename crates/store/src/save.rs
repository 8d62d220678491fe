//! Writes a record: whole, to disk, and only then under its name.
//!
//! A crash or a full disk at any moment leaves either the record saved before or the new one.
//! Called after each comparison; never while a slice runs.

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
    save_bytes(text.as_bytes(), path, existing)
}

/// Saves bytes that are not text in the same careful way.
///
/// # Errors
/// As [`save`].
pub fn save_bytes(bytes: &[u8], path: &Path, existing: Existing) -> Result<(), StoreError> {
    let place = Place::find(path, existing)?;
    write_with(&place, None, |file| file.write_all(bytes))
}

/// Saves a text for programs of other users, which may read it whatever the umask is, over whatever is there.
///
/// # Errors
/// As [`save_value`].
pub fn save_for_all(text: &[u8], path: &Path) -> Result<(), StoreError> {
    let place = Place::find(path, Existing::Replace)?;
    write_with(&place, Some(0o644), |file| file.write_all(text))
}

/// Saves a record again and again while it grows.
///
/// The rest comes first: on a full disk latencies make room for it, see [`Saver::lost`].
#[derive(Debug)]
pub struct Saver {
    place: Place,
    lost: Option<StoreError>,
}

impl Saver {
    /// Prepares for saving at `path`, and finds out at once if that is not possible. Makes no file yet.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] or `CreateFile`.
    pub fn new(path: &Path, existing: Existing) -> Result<Self, StoreError> {
        Ok(Self { place: Place::find(path, existing)?, lost: None })
    }

    /// Why not all latencies were kept, where the disk was full; told once.
    pub fn lost(&mut self) -> Option<StoreError> {
        self.lost.take()
    }

    /// Saves `record`. A device is written to each time, so there call it once. On a full disk it is
    /// saved without the latencies of its last comparison, else without any.
    ///
    /// # Errors
    /// As [`save`]; the record saved before stays.
    pub fn save(&mut self, record: &mut Record) -> Result<(), StoreError> {
        if let Err(full) = write(record, &self.place) {
            let Some(smaller) = self.save_smaller(record, &full) else {
                return Err(full);
            };
            self.lost.get_or_insert(full);
            *record = smaller;
        }
        // From now on the file there is our own.
        self.place.existing = Existing::Replace;
        Ok(())
    }

    /// Saves the record with as many latencies as a full disk has room for; `None` if it has room for none.
    fn save_smaller(&self, record: &Record, error: &StoreError) -> Option<Record> {
        let mut smaller = record.clone();
        while error.is_of_full_disk() && forget_last_samples(&mut smaller) {
            if write(&smaller, &self.place).is_ok() {
                return Some(smaller);
            }
        }
        None
    }

    /// The path of the saved record, links resolved.
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}

/// Takes the latencies out of the last comparison that has any; says whether there was one.
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

/// Without permissions, a new file has what the umask leaves. A device keeps its own.
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
