//! The names of users, programs and machines as they are sent: either unchanged or as keyed hashes.
//!
//! If all machines of a fleet use the same key, equal names have equal hashes. A pair of client and server can
//! therefore be counted over all machines. A reader without the key cannot find a name by hashing candidates.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::text::cleaned;

/// Number of hexadecimal digits of a hash. In a fleet with a million names, the probability that two names have the
/// same hash is one in five hundred.
const DIGITS: usize = 12;

#[derive(Clone, Default)]
pub struct Names {
    key: Option<Hmac<Sha256>>,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.key.is_some() { "hashed" } else { "plain" })
    }
}

impl Names {
    /// Hashes names with this key.
    ///
    /// # Panics
    /// Never: HMAC accepts keys of any length.
    pub fn hashed(key: &[u8]) -> Self {
        let key = Hmac::<Sha256>::new_from_slice(key).expect("HMAC accepts keys of any length");
        Self { key: Some(key) }
    }

    /// Returns a machine's number in the form in which it is sent: with a key, its hash. Reports that are made without
    /// this key do not contain the hash.
    pub fn number(&self, host_id: &str) -> String {
        match self.hash_of(host_id) {
            Some(hash) => hash[..host_id.len().min(hash.len())].to_owned(),
            None => host_id.to_owned(),
        }
    }

    /// Returns the name in the form in which it is sent; an unknown name stays empty.
    pub(crate) fn shown(&self, name: &str) -> String {
        match self.hash_of(name) {
            Some(hash) if !name.is_empty() => hash[..DIGITS].to_owned(),
            _ => cleaned(name),
        }
    }

    /// Returns all digits of a text's hash; `None` if there is no key.
    fn hash_of(&self, text: &str) -> Option<String> {
        let mut hash = self.key.clone()?;
        hash.update(text.as_bytes());
        Some(hex(&hash.finalize().into_bytes()))
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to memory cannot fail.
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
        // The expected digits are the output of: printf www-data | openssl dgst -sha256 -hmac key
        assert_eq!(one.shown("www-data"), "4e1e59540a01");
        assert_eq!(one.shown(""), "");
        let number = "c0ffee00".repeat(4);
        assert_eq!(one.number(&number).len(), 32);
        assert_ne!(one.number(&number), number);
        assert_ne!(one.number(&number), other.number(&number));
        assert_eq!(Names::default().number(&number), number);
        assert_eq!(Names::default().shown("www-data"), "www-data");
        assert_eq!(format!("{one:?}"), "hashed");
    }
}
