//! The common parts of Redis's and memcached's commands: a template with twelve digits, values, fixed replies.
//!
//! Runs in the measured loop: `write` copies a template and writes twelve digits into it. It does not allocate (the
//! caller keeps the capacity), lock or make a system call. Used by the measured commands of Redis and memcached.

pub(crate) use crate::renewal::KEY_DIGITS;
use crate::{KeyForm, Renewal, Reply, WireError};

/// Highest number of bytes in a value of a reply.
pub(crate) const VALUE_LIMIT: u64 = 16 << 20;
const FILLER: u8 = b'x';

/// A command that contains a key.
#[derive(Debug, Clone)]
pub(crate) struct Keyed {
    bytes: Vec<u8>,
    digits_at: usize,
}

impl Keyed {
    /// Makes the command. `bytes` is a whole command; its key ends in [`KEY_DIGITS`] digits, which start at
    /// `digits_at`.
    pub(crate) fn new(bytes: Vec<u8>, digits_at: usize) -> Self {
        debug_assert!(bytes.len() >= digits_at + KEY_DIGITS, "the key lies inside");
        Self { bytes, digits_at }
    }

    /// Appends the command for this key, with the key's lowest twelve digits.
    #[inline]
    pub(crate) fn write(&self, key: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        KeyForm::Digits.write(key, &mut out[start + self.digits_at..]);
    }

    /// Returns the change that turns the previous command into the command for the next key.
    pub(crate) fn renewal(&self) -> Renewal {
        Renewal::key(self.digits_at, KeyForm::Digits)
    }
}

/// Returns key number 0: `prefix` and twelve zeros.
pub(crate) fn key_zero(prefix: &str) -> String {
    format!("{prefix}{:0KEY_DIGITS$}", 0)
}

pub(crate) fn filler(n_bytes: usize) -> Vec<u8> {
    vec![FILLER; n_bytes]
}

/// Looks for the reply `wanted`, which has no data; for other bytes, returns the result of `other`.
#[inline]
pub(crate) fn fixed_reply(
    received: &[u8],
    wanted: &[u8],
    other: impl FnOnce() -> Result<Option<Reply>, WireError>,
) -> Result<Option<Reply>, WireError> {
    if received.starts_with(wanted) {
        return Ok(Some(Reply { bytes: wanted.len(), data: wanted.len()..wanted.len() }));
    }
    if wanted.starts_with(received) {
        return Ok(None);
    }
    other()
}
