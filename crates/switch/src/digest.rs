//! Whether two texts are the same, without keeping either: their SHA-256.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Stands for the bytes of a file.
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
