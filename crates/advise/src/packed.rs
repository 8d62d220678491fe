//! Unpacks a table of `data/` that the build script packed.

use std::io::Read;

use flate2::read::DeflateDecoder;
use serde::de::DeserializeOwned;

/// Includes the packed bytes of the table `$name` in the program.
macro_rules! packed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".json.deflate"))
    };
}

pub(crate) use packed;

pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> T {
    let mut text = Vec::new();
    let read = DeflateDecoder::new(bytes).read_to_end(&mut text);
    read.expect("it was packed by the build script");
    serde_json::from_slice(&text).expect("a test reads the same table")
}
