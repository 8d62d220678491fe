//! Names of users and programs, as they are or as keyed hashes.
//!
//! With one key over a fleet equal names have equal hashes, so that pairs can be counted, and who lacks the key cannot try
//! names until one fits.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::text::cleaned;

/// Hexadecimal digits of a hash: two names of a fleet of a million have the same with a chance of one in five hundred.
const DIGITS: usize = 12;

/// What becomes of names.
#[derive(Clone, Default)]
pub struct Names {
    key: Option<Hmac<Sha256>>,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.key.is_some() {
            "hashed"
        } else {
            "plain"
        })
    }
}

impl Names {
    /// Names are hashed with this key.
    ///
    /// # Panics
    /// Never: HMAC takes keys of any length.
    pub fn hashed(key: &[u8]) -> Self {
        let key = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
        Self { key: Some(key) }
    }

    /// The name as it is sent; an unknown one stays unknown.
    pub(crate) fn shown(&self, name: &str) -> String {
        match &self.key {
            Some(key) if !name.is_empty() => {
                let mut hash = key.clone();
                hash.update(name.as_bytes());
                hex(&hash.finalize().into_bytes())[..DIGITS].to_owned()
            }
            _ => cleaned(name),
        }
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to memory does not fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_equal_hashes_under_one_key() {
        let (one, other) = (Names::hashed(b"key"), Names::hashed(b"another"));
        assert_eq!(one.shown("www-data"), one.shown("www-data"));
        assert_ne!(one.shown("www-data"), other.shown("www-data"));
        assert_ne!(one.shown("www-data"), one.shown("mysql"));
        // printf www-data | openssl dgst -sha256 -hmac key
        assert_eq!(one.shown("www-data"), "4e1e59540a01");
        assert_eq!(one.shown(""), "");
        assert_eq!(Names::default().shown("www-data"), "www-data");
        assert_eq!(format!("{one:?}"), "hashed");
    }
}
