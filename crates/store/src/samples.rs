//! Latencies in the form in which a record contains them: sorted by size, each with the number of its occurrences.
//!
//! A fast server answers a hundred thousand requests, but their latencies have only some thousand different values.
//! Therefore each request takes less than a byte. The order of the requests in time is lost, but no report of a run
//! needs it.

use std::io::{BufReader, Read, Write};

use base64::Engine;
pub(crate) use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use looptax_model::record::Samples;

use crate::StoreError;

/// Maximum number of bytes that the latencies of a record may take: enough for a few hundred million requests.
pub const SAMPLES_CAP_BYTES: usize = 64 << 20;
/// Maximum number of latencies that looptax writes for an epoch. No run keeps more latencies in memory.
const MOST_SAMPLES: u64 = 1 << 26;

/// Packs the latencies of one arm in one epoch. Packing runs between two epochs, so it uses the fast level of
/// compression. The result is a twelfth larger than at level 6: for an event loop with 64 connections, the fast level
/// packs 7 MB of pairs into 3.1 MB, and level 6 packs them into 2.86 MB.
///
/// # Units
/// `latencies_ns` in nanoseconds, in any order.
pub fn pack(mut latencies_ns: Vec<u32>) -> Samples {
    latencies_ns.sort_unstable();
    let mut pairs = Vec::new();
    let mut before_ns = 0;
    for same in latencies_ns.chunk_by(|a, b| a == b) {
        push_number(&mut pairs, same[0] - before_ns);
        // The number of latencies fits into 32 bits, because the limit on memory does not allow more.
        push_number(&mut pairs, same.len() as u32);
        before_ns = same[0];
    }
    Samples { count: latencies_ns.len() as u64, packed: BASE64.encode(deflate(&pairs, Compression::fast())) }
}

/// Returns the latencies of one arm in one epoch in nanoseconds, the fastest first.
///
/// # Errors
/// [`StoreError::BrokenSamples`] if the latencies are not in the form that [`pack`] makes.
pub fn unpack(samples: &Samples) -> Result<Vec<u32>, StoreError> {
    read_pairs(samples).ok_or(StoreError::BrokenSamples { count: samples.count })
}

pub(crate) fn deflate(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut zlib = ZlibEncoder::new(Vec::new(), level);
    let packed = zlib.write_all(bytes).and_then(|()| zlib.finish());
    packed.expect("writing to memory does not fail")
}

fn read_pairs(packed: &Samples) -> Option<Vec<u32>> {
    // The count in a record may be wrong, so it is checked before it is used as the size of a buffer.
    if packed.count > MOST_SAMPLES {
        return None;
    }
    let zlib = BASE64.decode(&packed.packed).ok()?;
    let mut zlib = BufReader::new(ZlibDecoder::new(&*zlib));
    let mut bytes = zlib.by_ref().bytes();
    let mut samples = Vec::new();
    let mut latency_ns = 0_u32;
    while (samples.len() as u64) < packed.count {
        latency_ns = latency_ns.checked_add(next_number(&mut bytes)?)?;
        let n_same = next_number(&mut bytes)?;
        let n_left = packed.count - samples.len() as u64;
        if n_same == 0 || u64::from(n_same) > n_left {
            return None;
        }
        samples.resize(samples.len() + n_same as usize, latency_ns);
    }
    // The checksum follows the last byte of the stream, and nothing may follow the checksum.
    let is_whole = bytes.next().is_none() && zlib.into_inner().into_inner().is_empty();
    is_whole.then_some(samples)
}

/// Appends a number, with seven bits in each byte.
fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads the next number; `None` at the end of the bytes, or for a number of more than 32 bits.
fn next_number(bytes: &mut impl Iterator<Item = std::io::Result<u8>>) -> Option<u32> {
    let mut number = 0_u64;
    for shift in (0..35).step_by(7) {
        let byte = bytes.next()?.ok()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(number).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(latencies_ns: &[u32]) {
        let mut sorted = latencies_ns.to_vec();
        sorted.sort_unstable();
        let packed = pack(latencies_ns.to_vec());
        assert_eq!(unpack(&packed).unwrap(), sorted);
        assert_eq!(packed.count, sorted.len() as u64);
    }

    #[test]
    fn what_is_packed_comes_back_by_size() {
        check(&[]);
        check(&[0]);
        check(&[u32::MAX, 0, u32::MAX, 1, 0]);
        check(&[7; 1_000]);
        let scattered = (0..40_000_u32).map(|n| n.wrapping_mul(2_654_435_761));
        check(&scattered.collect::<Vec<u32>>());
    }

    #[test]
    fn a_fast_server_s_latencies_take_less_than_a_byte_each() {
        // A hundred thousand requests of 10 to 14 microseconds.
        let latencies_ns = (0..100_000_u32).map(|n| 10_000 + n.wrapping_mul(2_654_435_761) % 4_000);
        let packed = pack(latencies_ns.collect());
        assert!(packed.packed.len() < 30_000, "{}", packed.packed.len());
    }

    #[track_caller]
    fn check_noticed(spoil: impl Fn(&mut Samples)) {
        let mut packed = pack(vec![5, 5, 900, 1_000_000]);
        spoil(&mut packed);
        let error = unpack(&packed).unwrap_err();
        assert!(matches!(error, StoreError::BrokenSamples { .. }), "{error:?}");
    }

    #[test]
    fn what_is_broken_is_noticed() {
        check_noticed(|it| it.count = 3);
        check_noticed(|it| it.count = 5);
        check_noticed(|it| it.count = u64::MAX);
        check_noticed(|it| it.packed.truncate(8));
        check_noticed(|it| it.packed.push_str("AAAA"));
        check_noticed(|it| it.packed.clear());
        check_noticed(|it| it.packed = "no base64!".to_owned());
        // A pair with the count 0 would repeat for ever.
        check_noticed(|it| it.packed = BASE64.encode(deflate(&[5, 0, 5, 0], Compression::fast())));
        let beyond = [0xff, 0xff, 0xff, 0xff, 0x7f, 1];
        check_noticed(|it| it.packed = BASE64.encode(deflate(&beyond, Compression::fast())));
    }
}
