//! `SHA256SUMS`, for `sha256sum --check`, and the list of artefacts that is printed at the end.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use sha2::{Digest, Sha256};

use super::place::Place;
use crate::workspace::fail_on;

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

/// Fails if README names a file of the release that does not exist, for example after a change of the version. README
/// names only the files for x86-64.
pub(super) fn check_readme(place: &Place) -> Result<()> {
    if place.image_machine != "amd64" {
        return Ok(());
    }
    let is_there = |name: &str| place.artefacts.join(name).exists();
    let text = fs::read_to_string(place.root.join("README.md"))?;
    let named = text.split("/releases/download/").skip(1);
    let named = named.filter_map(|rest| rest.split([' ', '\n']).next()?.rsplit('/').next());
    let missing: Vec<String> =
        named.filter(|name| !is_there(name)).map(|name| format!("README.md mentions {name}")).collect();
    fail_on(&missing)
}

/// Returns the SHA-256 of these bytes, in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns a list with a line for each artefact: its name and its size.
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
