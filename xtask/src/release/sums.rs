//! `SHA256SUMS`: what `sha256sum --check` reads, and the list that is printed at the end.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use sha2::{Digest, Sha256};

use super::place::Place;

const NAME: &str = "SHA256SUMS";

/// Writes the checksums of all artefacts, sorted by name.
pub(super) fn write(place: &Place) -> Result<()> {
    let mut text = String::new();
    for path in artefacts(place)? {
        let digest = digest(&fs::read(&path)?);
        let name = path.file_name().unwrap_or_default().display();
        writeln!(text, "{digest}  {name}")?;
    }
    fs::write(place.artefacts.join(NAME), text)?;
    Ok(())
}

/// The SHA-256 of bytes, in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Every artefact with its size, a line each.
pub(super) fn list(place: &Place) -> Result<String> {
    let mut text = String::new();
    for path in artefacts(place)? {
        let n_bytes = fs::metadata(&path)?.len();
        writeln!(text, "{n_bytes:>10}  {}", path.display())?;
    }
    Ok(text)
}

fn artefacts(place: &Place) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(&place.artefacts)? {
        let path = entry?.path();
        if !path.ends_with(NAME) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
