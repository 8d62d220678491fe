//! Bytes that no other process can guess, for the nonces of logins and for names that no other run uses.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns `N` random bytes, at most 256. For up to 256 bytes the kernel always returns all of them.
///
/// # Errors
/// If the kernel returns no bytes.
///
/// # Source
/// getrandom(2), "up to 256 bytes will always return as many bytes as requested".
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}
