//! Bytes that nobody can guess: nonces of logins, and names that no other run has.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// So many of them, at most 256: fewer than that the kernel never gives.
///
/// # Errors
/// When the kernel gives none.
///
/// # Source
/// getrandom(2), "up to 256 bytes will always return as many bytes as requested".
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}
