//! Reads a record or a saved snapshot of `watch`, and reports clearly why a file cannot be read.
//!
//! Anyone may have written the file: it may be cut off, edited by hand, or saved by another looptax.

use std::path::Path;

use looptax_host::read;
use looptax_model::record::{Record, SCHEMA_VERSION, WATCHED_SCHEMA_VERSION, Watched};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::StoreError;

/// Maximum size of a file that is read, in bytes. No record is larger.
const MOST_BYTES: u64 = 512 << 20;

/// The only field that is in records of all versions.
#[derive(Deserialize)]
struct Head {
    schema_version: Option<u64>,
}

/// Reads the record at `path`.
///
/// # Errors
/// [`StoreError::ReadFile`]; `NotARecord` for JSON of another kind; `SchemaVersion` for a version that this looptax
/// does not know; otherwise `Broken`, with the invalid field.
pub fn load(path: &Path) -> Result<Record, StoreError> {
    load_as(path, SCHEMA_VERSION)
}

/// Reads the snapshot that `watch` saved at `path`.
///
/// # Errors
/// As [`load`].
pub fn load_watched(path: &Path) -> Result<Watched, StoreError> {
    load_as(path, WATCHED_SCHEMA_VERSION)
}

/// Whether the file at `path` is a saved snapshot of `watch`, and not the record of a run.
pub fn is_watched(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Fields {
        hops: Option<IgnoredAny>,
        comparisons: Option<IgnoredAny>,
    }
    let text = read::read(path, MOST_BYTES).ok();
    let fields = text.and_then(|it| serde_json::from_slice::<Fields>(&it).ok());
    fields.is_some_and(|it| it.hops.is_some() && it.comparisons.is_none())
}

fn load_as<T: DeserializeOwned>(path: &Path, version: u32) -> Result<T, StoreError> {
    let text = read::read(path, MOST_BYTES).map_err(|source| StoreError::ReadFile { path: path.to_owned(), source })?;
    // If the file is cut off, its version cannot be read, and `parse` reports where the file ends.
    if let Ok(head) = serde_json::from_slice::<Head>(&text) {
        match head.schema_version {
            None => {
                return Err(StoreError::NotARecord { path: path.to_owned() });
            }
            Some(found) if found != u64::from(version) => {
                return Err(StoreError::SchemaVersion { path: path.to_owned(), found });
            }
            Some(_) => {}
        }
    }
    parse(&text, path)
}

fn parse<T: DeserializeOwned>(text: &[u8], path: &Path) -> Result<T, StoreError> {
    let broken = |field: &str, source| StoreError::Broken {
        path: path.to_owned(),
        // If the name of the field is cut off, it identifies nothing, so the error names the object that contains the
        // field.
        field: field.strip_suffix('?').map_or_else(
            || field.to_owned(),
            |it| {
                if it.is_empty() { ".".to_owned() } else { it.trim_end_matches('.').to_owned() }
            },
        ),
        source,
    };
    let mut json = serde_json::Deserializer::from_slice(text);
    let read = serde_path_to_error::deserialize(&mut json);
    let record = read.map_err(|error| broken(&error.path().to_string(), error.into_inner()))?;
    json.end().map_err(|source| broken("the end", source))?;
    Ok(record)
}
