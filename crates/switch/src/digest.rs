//! Compares two texts by their SHA-256, without keeping the texts.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest(String);

impl Digest {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        let mut text = String::new();
        for byte in Sha256::digest(bytes) {
            write!(text, "{byte:02x}").expect("a String takes all");
        }
        Self(text)
    }
}
