//! Records go to disk whole or not at all, and what cannot be read says why.
//!
//! Every test works in a folder of its own.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "these are tests, in folders of their own"
)]

mod history;
mod loading;
mod samples;
mod saving;
mod versions;

use std::fs;
use std::path::Path;

use looptax_record::{Hex64, Record};
use serde_json::{Value, json};

/// A record in which only the id is worth looking at.
fn record(id: &str) -> Record {
    Record {
        seed: Hex64(1),
        ..Record::begun(id.to_owned(), "2026-01-02T03:04:05Z".to_owned(), "0.1.0")
    }
}

/// Latencies of the first epoch's baseline in [`record_of_version_1`].
const BLOCK_NS: [u32; 3] = [1, 2, 3];

/// A companion file with [`BLOCK_NS`] in it.
fn companion() -> Vec<u8> {
    let words = BLOCK_NS.iter().flat_map(|ns| ns.to_le_bytes());
    let header = *b"LOOPTAXS\x01\0\0\0\0\0\0\0";
    header.into_iter().chain(words).collect()
}

/// The kept record of version 1 at `path`, with latencies in a companion file beside it.
fn record_of_version_1(path: &Path) {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/schema-1.json");
    let mut record: Value = serde_json::from_slice(&fs::read(kept).unwrap()).unwrap();
    record["samples"] =
        json!({"name": "a.samples", "size_bytes": companion().len(), "complete": true});
    // FNV-1a over whole numbers.
    let checksum = BLOCK_NS
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, ns| {
            (hash ^ u64::from(*ns)).wrapping_mul(0x0100_0000_01b3)
        });
    record["comparisons"][0]["raw"]["epochs"][0]["samples"][0] =
        json!({"offset_bytes": 16, "count": BLOCK_NS.len(), "checksum": Hex64(checksum)});
    fs::write(path, record.to_string()).unwrap();
    fs::write(path.with_extension("samples"), companion()).unwrap();
}
