//! Bytes that no other process can guess: nonces of logins, and names that no other run has.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns `N` of them, at most 256: up to that number the kernel always returns all of them.
///
/// # Errors
/// When the kernel returns no bytes.
///
/// # Source
/// getrandom(2), "up to 256 bytes will always return as many bytes as requested".
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}
