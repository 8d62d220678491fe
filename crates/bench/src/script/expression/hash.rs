//! The hash functions of the script language: from 64 bits to 64 bits, with a seed.
//!
//! # Source
//! FNV-1a: <http://www.isthe.com/chongo/tech/comp/fnv/>. `MurmurHash64A`: Austin Appleby's algorithm, public domain.
//! How pgbench uses the seed was derived from the two examples in its manual.

const FNV_PRIME: u64 = 0x0100_0000_01b3;
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const MURMUR_FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
const MURMUR_SHIFT: u32 = 47;

/// Computes FNV-1a over the value's eight bytes, least significant byte first.
pub(crate) fn fnv1a(value: i64, seed: i64) -> i64 {
    let start = FNV_BASIS ^ seed.cast_unsigned();
    let bytes = value.to_le_bytes();
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
    bytes.iter().fold(start, step).cast_signed()
}

/// Computes `MurmurHash64A` over the value's eight bytes.
pub(crate) fn murmur2(value: i64, seed: i64) -> i64 {
    let mix = |bits: u64| bits ^ (bits >> MURMUR_SHIFT);
    let n_bytes = value.to_le_bytes().len() as u64;
    let block = mix(value.cast_unsigned().wrapping_mul(MURMUR_FACTOR)).wrapping_mul(MURMUR_FACTOR);
    let start = seed.cast_unsigned() ^ n_bytes.wrapping_mul(MURMUR_FACTOR);
    let hash = (start ^ block).wrapping_mul(MURMUR_FACTOR);
    mix(mix(hash).wrapping_mul(MURMUR_FACTOR)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_values_of_the_manual() {
        assert_eq!(fnv1a(10, 5432), -7_793_829_335_365_542_153);
        assert_eq!(murmur2(10, 5432), -5_817_877_081_768_721_676);
    }
}
