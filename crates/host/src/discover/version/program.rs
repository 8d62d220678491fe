//! Reads the constants of a program: the section of an ELF file that contains its texts.
//!
//! Any user may have made the file. Every number in it is therefore checked against the file's length, and reads are
//! limited.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The maximum number of bytes read from one program. MySQL has 14 MB of constants; the largest known program,
/// `mongod`, has about 60 MB.
const MOST_BYTES: u64 = 96 << 20;
/// The maximum number of sections in a table; programs have about 30.
const MOST_SECTIONS: u16 = 512;
/// The number of bytes of a section's header in 64-bit files.
const SECTION_BYTES: usize = 64;
const NAME: &[u8] = b".rodata";
/// The type of a section that has no bytes in the file. Source: elf(5), `SHT_NOBITS`.
const NO_BITS: u32 = 8;

/// Returns the constants of a program, at most `budget` bytes. If the program has no section of constants, returns the
/// start of the file; empty if the file cannot be read.
///
/// # Source
/// elf(5): `Elf64_Ehdr`, `Elf64_Shdr`.
pub(super) fn texts(file: &File, budget: u64) -> Vec<u8> {
    let n_bytes = file.metadata().map_or(0, |it| it.len());
    let (at, length) = constants(file).unwrap_or((0, n_bytes));
    let length = length.min(n_bytes.saturating_sub(at));
    let length = length.min(MOST_BYTES).min(budget);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    match file.read_exact_at(&mut bytes, at) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

/// Returns offset and length of the section of constants.
fn constants(file: &File) -> Option<(u64, u64)> {
    let mut head = [0; 64];
    file.read_exact_at(&mut head, 0).ok()?;
    let is_native = head.starts_with(b"\x7fELF") && head[4] == 2 && head[5] == NATIVE_ORDER;
    let n_sections = half(&head, 60)?;
    let is_usual = usize::from(half(&head, 58)?) == SECTION_BYTES && n_sections <= MOST_SECTIONS;
    if !is_native || !is_usual {
        return None;
    }
    let mut table = vec![0; usize::from(n_sections) * SECTION_BYTES];
    file.read_exact_at(&mut table, long(&head, 40)?).ok()?;
    let (headers, _) = table.as_chunks::<SECTION_BYTES>();
    let names = headers.get(usize::from(half(&head, 62)?))?;
    let names_at = long(names, 24)?;
    let is_named = |header: &[u8; SECTION_BYTES]| {
        let mut name = [0; NAME.len() + 1];
        let at = word(header, 0).and_then(|it| names_at.checked_add(it.into()));
        let is_read = at.is_some_and(|at| file.read_exact_at(&mut name, at).is_ok());
        is_read && name.starts_with(NAME) && name.ends_with(b"\0")
    };
    let header = headers.iter().find(|it| is_named(it))?;
    if word(header, 4)? == NO_BITS {
        return None;
    }
    Some((long(header, 24)?, long(header, 32)?))
}

#[cfg(target_endian = "little")]
const NATIVE_ORDER: u8 = 1;
#[cfg(target_endian = "big")]
const NATIVE_ORDER: u8 = 2;

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    /// Builds an ELF file with a table of two sections: the names, and the constants.
    fn program(change: impl Fn(&mut Vec<u8>)) -> File {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, NATIVE_ORDER]);
        bytes[40..48].copy_from_slice(&64_u64.to_ne_bytes());
        for (at, value) in [(58, 64_u16), (60, 2), (62, 0)] {
            bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        let names = b"\0.rodata\0";
        for (name, at, n_bytes) in [(0_u32, 192_u64, 9_u64), (1, 201, 5)] {
            let mut header = [0; 64];
            header[..4].copy_from_slice(&name.to_ne_bytes());
            header[24..32].copy_from_slice(&at.to_ne_bytes());
            header[32..40].copy_from_slice(&n_bytes.to_ne_bytes());
            bytes.extend(header);
        }
        bytes.extend(names);
        bytes.extend(b"1.2.3and the rest");
        change(&mut bytes);
        file_of(&bytes)
    }

    #[test]
    fn only_the_constants_are_read() {
        assert_eq!(texts(&program(|_| {}), 1 << 20), b"1.2.3");
        assert_eq!(texts(&program(|_| {}), 2), b"1.");
    }

    #[test]
    fn a_file_whose_numbers_lead_outside_is_no_harm() {
        for at in [40, 48, 58, 60, 62, 64, 88, 96, 128, 152, 160] {
            for value in [0_u64, 1, 0xffff, u64::MAX / 2, u64::MAX] {
                let put = |bytes: &mut Vec<u8>| {
                    bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
                };
                assert!(texts(&program(put), 1 << 20).len() <= 300, "{at} {value}");
            }
        }
        assert_eq!(texts(&file_of(b"#!/bin/sh\n"), 1 << 20), b"#!/bin/sh\n");
        assert_eq!(texts(&file_of(b""), 1 << 20), b"");
    }
}
