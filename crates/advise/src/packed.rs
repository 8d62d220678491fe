//! Unpacks a table of `data/`, as the build script packed it.

use flate2::read::DeflateDecoder;
use serde::de::DeserializeOwned;

/// The bytes of a table.
macro_rules! packed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".json.deflate"))
    };
}

pub(crate) use packed;

/// Reads a packed table.
pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> T {
    serde_json::from_reader(DeflateDecoder::new(bytes)).expect("a test reads the same table")
}
