//! Text like the text with which sysbench fills its columns: groups of eleven digits, made from 64 random bits.
//!
//! Runs in the measured loop, for each row that is written. Its cost is compared with that of sysbench's own generator.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

const GROUP_DIGITS: usize = 11;

/// Appends `n_groups` groups with dashes between them. The same bits always give the same text.
pub(super) fn write(bits: u64, n_groups: usize, out: &mut Vec<u8>) {
    let mut random = SplitMix64::seed_from_u64(bits);
    for group in 0..n_groups {
        if group > 0 {
            out.push(b'-');
        }
        let start = out.len();
        out.extend_from_slice(&[0; GROUP_DIGITS]);
        let mut left = random.next_u64() >> 1;
        for digit in out[start..].iter_mut().rev() {
            *digit = b'0' + (left % 10) as u8;
            left /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bits: u64, n_groups: usize) -> String {
        let mut out = Vec::new();
        write(bits, n_groups, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn groups_have_eleven_digits_each() {
        let text = text(7, 10);
        assert_eq!(text.len(), 119);
        assert!(text.split('-').all(|group| group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit())));
    }

    #[test]
    fn bits_decide_the_text() {
        assert_eq!(text(1, 5), text(1, 5));
        assert_ne!(text(1, 5), text(2, 5));
        assert_eq!(text(1, 0), "");
    }
}
