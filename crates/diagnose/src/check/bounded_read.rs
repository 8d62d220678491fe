//! Files that anybody may have written, read up to a bound.
//!
//! Called by what looks for connections in files and processes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// One byte more than is read as configuration, so that more is seen as too much.
const MOST_BYTES: u64 = (1 << 20) + 1;

/// Reads a file up to the bound.
pub(super) fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
