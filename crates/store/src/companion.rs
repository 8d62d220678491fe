//! The companion file of a record of version 1: the latency of every request.
//!
//! Form: 8 bytes `LOOPTAXS`, version 1 as u32, zero as u32; then blocks, each a run of u32 latencies
//! in nanoseconds. All numbers are little-endian. Where a block lies, how long it is and its checksum
//! stand in the record, in the epoch that it belongs to. The checksum is FNV-1a of 64 bits taken over
//! whole samples instead of bytes: it notices a wrong or cut file and guards against nobody.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use looptax_record::{Hex64, Record, Samples, SamplesAt};

use crate::StoreError;
use crate::samples::pack;

/// The most that a companion file holds: 64 million requests.
const CAP_BYTES: u64 = 256 << 20;
const MAGIC: &[u8; 8] = b"LOOPTAXS";
const VERSION: u32 = 1;
const HEADER_BYTES: u64 = 16;
const SAMPLE_BYTES: u64 = 4;

/// Takes the latencies that lie beside a record of version 1 into it, so that it is one file from then
/// on; any other record is one already.
///
/// # Errors
/// [`StoreError::ReadFile`], [`StoreError::NotSamples`] or [`StoreError::SamplesMismatch`]; the record is
/// left as it was.
pub fn take_in_samples(record: &mut Record, path: &Path) -> Result<(), StoreError> {
    let Some(file) = &record.samples else {
        return Ok(());
    };
    let beside = path.with_file_name(&file.name);
    if looptax_host::plain(file.name.as_ref()).is_err() {
        return Err(StoreError::NotSamples { path: beside });
    }
    let companion = Companion::open(&beside, file.size_bytes)?;
    let mut whole = record.clone();
    let epochs = whole
        .comparisons
        .iter_mut()
        .flat_map(|it| &mut it.raw.epochs);
    for samples in epochs.flat_map(|epoch| &mut epoch.samples) {
        if let Some(Samples::At(at)) = samples {
            *samples = Some(Samples::Packed(pack(companion.read(at)?)));
        }
    }
    whole.samples = None;
    *record = whole;
    Ok(())
}

/// An open companion file.
struct Companion {
    path: PathBuf,
    file: File,
}

impl Companion {
    /// Opens the file of samples at `path`, which the record says to be so long.
    fn open(path: &Path, size_bytes: u64) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let mut head = [0; HEADER_BYTES as usize];
        let opened = looptax_host::read::open(&path).and_then(|mut file| {
            let found_bytes = file.metadata()?.len();
            file.read_exact(&mut head)?;
            Ok((file, found_bytes))
        });
        match opened {
            Ok((_, found_bytes)) if head == header() && found_bytes > size_bytes => {
                Err(StoreError::TrailingSamples {
                    path,
                    size_bytes,
                    found_bytes,
                })
            }
            Ok((file, _)) if head == header() => Ok(Self { path, file }),
            Ok(_) => Err(StoreError::NotSamples { path }),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(StoreError::NotSamples { path })
            }
            Err(source) => Err(StoreError::ReadFile { path, source }),
        }
    }

    /// Reads one block: latencies in nanoseconds. Fails where the file is too short or the checksum
    /// another, so that the samples of another run are never taken for these.
    fn read(&self, at: &SamplesAt) -> Result<Vec<u32>, StoreError> {
        let mismatch = || StoreError::SamplesMismatch {
            path: self.path.clone(),
            offset_bytes: at.offset_bytes,
            count: at.count,
        };
        // The record is not trusted with the size of the buffer.
        if at.count > CAP_BYTES / SAMPLE_BYTES {
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

    #[test]
    fn the_checksum_depends_on_order_and_value() {
        // One step over the sample 0 is the basis times the prime.
        assert_eq!(checksum(&[0]), Hex64(0xaf63_bd4c_8601_b7df));
        assert_ne!(checksum(&[1, 2]), checksum(&[2, 1]));
        assert_ne!(checksum(&[0]), checksum(&[0, 0]));
    }
}
