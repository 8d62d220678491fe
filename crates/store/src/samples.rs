//! The companion file of a record: the latency of every request.
//!
//! Form: 8 bytes `LOOPTAXS`, version 1 as u32, zero as u32; then blocks, each a run of u32 latencies
//! in nanoseconds. All numbers are little-endian. Where a block lies, how long it is and its checksum
//! stand in the record, in the epoch that it belongs to. The checksum is FNV-1a of 64 bits taken over
//! whole samples instead of bytes: it notices a wrong or cut file and guards against nobody.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use looptax_record::{Hex64, SamplesAt, SamplesFile};

use crate::{Existing, StoreError};

/// The most that a companion file may hold: 64 million requests, minutes of the fastest server.
pub const SAMPLES_CAP_BYTES: u64 = 256 << 20;

const MAGIC: &[u8; 8] = b"LOOPTAXS";
const VERSION: u32 = 1;
const HEADER_BYTES: u64 = 16;
const SAMPLE_BYTES: u64 = 4;
/// Samples turned into bytes at a time: small enough for the cache, large enough for the disk.
const CHUNK: usize = 1 << 14;

/// The companion's path: `.json` becomes `.samples`; any other name gets it appended.
pub fn samples_path(record: &Path) -> PathBuf {
    if record.extension() == Some(OsStr::new("json")) {
        return record.with_extension("samples");
    }
    let mut name = record.as_os_str().to_owned();
    name.push(".samples");
    name.into()
}

/// Appends blocks; makes the file with the first one.
#[derive(Debug)]
pub(crate) struct SamplesWriter {
    path: PathBuf,
    existing: Existing,
    file: Option<File>,
    end_bytes: u64,
    /// Up to here a saved record points into the file.
    saved_bytes: u64,
    is_complete: bool,
}

impl SamplesWriter {
    pub(crate) fn new(path: PathBuf, existing: Existing) -> Result<Self, StoreError> {
        if existing == Existing::Keep && path.symlink_metadata().is_ok() {
            return Err(StoreError::AlreadyExists { path });
        }
        Ok(Self {
            path,
            existing,
            file: None,
            end_bytes: HEADER_BYTES,
            saved_bytes: HEADER_BYTES,
            is_complete: true,
        })
    }

    pub(crate) fn append(&mut self, samples: &[u32]) -> Result<Option<SamplesAt>, StoreError> {
        let size_bytes = samples.len() as u64 * SAMPLE_BYTES;
        if self.end_bytes + size_bytes > SAMPLES_CAP_BYTES {
            self.is_complete = false;
            return Ok(None);
        }
        if self.file.is_none() {
            self.file = Some(create(&self.path, self.existing)?);
        }
        let file = self.file.as_ref().expect("it was made just above");
        let mut offset = self.end_bytes;
        let mut bytes = Vec::with_capacity(CHUNK.min(samples.len()) * SAMPLE_BYTES as usize);
        for chunk in samples.chunks(CHUNK) {
            bytes.clear();
            bytes.extend(chunk.iter().flat_map(|sample| sample.to_le_bytes()));
            let written = file.write_all_at(&bytes, offset);
            written.map_err(|source| StoreError::WriteFile {
                path: self.path.clone(),
                source,
            })?;
            offset += bytes.len() as u64;
        }
        let at = SamplesAt {
            offset_bytes: self.end_bytes,
            count: samples.len() as u64,
            checksum: checksum(samples),
        };
        self.end_bytes = offset;
        Ok(Some(at))
    }

    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        match &self.file {
            Some(file) => file.sync_data().map_err(|source| StoreError::WriteFile {
                path: self.path.clone(),
                source,
            }),
            None => Ok(()),
        }
    }

    /// Notes that a saved record points to all that is here.
    pub(crate) fn mark_saved(&mut self) {
        self.saved_bytes = self.end_bytes;
    }

    /// Whether giving up what no saved record points to would make room.
    pub(crate) fn has_unsaved(&self) -> bool {
        self.file.is_some() && self.end_bytes > self.saved_bytes
    }

    /// Where the samples end that are kept.
    pub(crate) fn end_bytes(&self) -> u64 {
        self.end_bytes
    }

    /// Frees what no saved record points to; a file without a block goes.
    pub(crate) fn give_up_unsaved(&mut self) {
        self.end_bytes = self.saved_bytes;
        self.is_complete = false;
        if self.end_bytes == HEADER_BYTES {
            self.remove();
        } else if let Some(file) = &self.file {
            // What cannot be freed is beyond the end that the record states.
            let _ = file.set_len(self.end_bytes);
        }
    }

    /// Removes the file if this writer made it.
    pub(crate) fn remove(&mut self) {
        if self.file.take().is_some() {
            // Called from a drop, where nobody could be told.
            let _ = std::fs::remove_file(&self.path);
        }
    }

    pub(crate) fn file(&self) -> Option<SamplesFile> {
        self.file.as_ref()?;
        let name = self.path.file_name()?.to_string_lossy().into_owned();
        Some(SamplesFile {
            name,
            size_bytes: self.end_bytes,
            complete: self.is_complete,
        })
    }
}

/// Reads blocks of a companion file.
#[derive(Debug)]
pub struct SamplesReader {
    path: PathBuf,
    file: File,
}

impl SamplesReader {
    /// Opens the file of samples at `path`: see [`samples_path`].
    ///
    /// # Errors
    /// [`StoreError::ReadFile`]; [`StoreError::NotSamples`] when its head is not that of version 1.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let mut head = [0; HEADER_BYTES as usize];
        let opened = File::open(&path).and_then(|mut file| {
            file.read_exact(&mut head)?;
            Ok(file)
        });
        match opened {
            Ok(file) if head == header() => Ok(Self { path, file }),
            Ok(_) => Err(StoreError::NotSamples { path }),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(StoreError::NotSamples { path })
            }
            Err(source) => Err(StoreError::ReadFile { path, source }),
        }
    }

    /// Reads one block: latencies in nanoseconds.
    ///
    /// # Errors
    /// [`StoreError::ReadFile`]; [`StoreError::SamplesMismatch`] when the file is too short or the
    /// checksum another, so that the samples of another run are never taken for these.
    pub fn read(&self, at: &SamplesAt) -> Result<Vec<u32>, StoreError> {
        let mismatch = || StoreError::SamplesMismatch {
            path: self.path.clone(),
            offset_bytes: at.offset_bytes,
            count: at.count,
        };
        // The record is not trusted with the size of the buffer.
        if at.count > SAMPLES_CAP_BYTES / SAMPLE_BYTES {
            return Err(mismatch());
        }
        let mut bytes = vec![0; (at.count * SAMPLE_BYTES) as usize];
        self.file
            .read_exact_at(&mut bytes, at.offset_bytes)
            .map_err(|source| match source.kind() {
                ErrorKind::UnexpectedEof | ErrorKind::InvalidInput => mismatch(),
                _ => StoreError::ReadFile {
                    path: self.path.clone(),
                    source,
                },
            })?;
        let (words, _) = bytes.as_chunks::<4>();
        let samples: Vec<u32> = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
        if checksum(&samples) == at.checksum {
            Ok(samples)
        } else {
            Err(mismatch())
        }
    }
}

fn create(path: &Path, existing: Existing) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.write(true);
    match existing {
        Existing::Keep => options.create_new(true),
        Existing::Replace => options.create(true).truncate(true),
    };
    let file = options.open(path).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => StoreError::AlreadyExists {
            path: path.to_owned(),
        },
        _ => StoreError::CreateFile {
            path: path.to_owned(),
            source,
        },
    })?;
    file.write_all_at(&header(), 0).map_err(|source| {
        // Without a head it is nothing, and the error to tell is the one above.
        let _ = std::fs::remove_file(path);
        StoreError::WriteFile {
            path: path.to_owned(),
            source,
        }
    })?;
    Ok(file)
}

fn header() -> [u8; HEADER_BYTES as usize] {
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// FNV-1a over whole samples; offset basis and prime are those of the 64-bit variant.
///
/// # Source
/// <http://www.isthe.com/chongo/tech/comp/fnv/>
fn checksum(samples: &[u32]) -> Hex64 {
    let step = |hash: u64, &sample: &u32| (hash ^ u64::from(sample)).wrapping_mul(0x0100_0000_01b3);
    Hex64(samples.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(record: &str, expected: &str) {
        assert_eq!(samples_path(Path::new(record)), Path::new(expected));
    }

    #[test]
    fn the_companion_never_has_the_name_of_the_record() {
        check("a.json", "a.samples");
        check("dir.json/run", "dir.json/run.samples");
        check("a.samples", "a.samples.samples");
        check("a.b.json", "a.b.samples");
    }

    #[test]
    fn the_checksum_depends_on_order_and_value() {
        // One step over the sample 0 is the basis times the prime.
        assert_eq!(checksum(&[0]), Hex64(0xaf63_bd4c_8601_b7df));
        assert_ne!(checksum(&[1, 2]), checksum(&[2, 1]));
        assert_ne!(checksum(&[0]), checksum(&[0, 0]));
    }

    #[test]
    fn a_block_beyond_the_cap_is_not_kept_and_said_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.samples");
        let mut writer = SamplesWriter::new(path, Existing::Keep).unwrap();
        writer.append(&[1]).unwrap().unwrap();
        writer.end_bytes = SAMPLES_CAP_BYTES - 4;
        assert_eq!(writer.append(&[1, 2]).unwrap(), None);
        assert!(!writer.file().unwrap().complete);
        assert!(
            writer.append(&[3]).unwrap().is_some(),
            "what still fits is kept"
        );
    }
}
