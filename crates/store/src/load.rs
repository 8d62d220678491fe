//! Reads a record, and says clearly what is wrong with one that cannot be read.
//!
//! The file may come from anybody: cut off, edited by hand, or saved by another looptax.

use std::path::Path;

use looptax_host::read;
use looptax_model::record::{Record, SCHEMA_VERSION};
use serde::Deserialize;

use crate::StoreError;

/// More than any record has.
const MOST_BYTES: u64 = 512 << 20;

/// The one field that every generation of records has.
#[derive(Deserialize)]
struct Head {
    schema_version: Option<u64>,
}

/// Reads the record at `path`.
///
/// # Errors
/// [`StoreError::ReadFile`]; `NotARecord` for JSON of another kind; `SchemaVersion` for a version
/// that this looptax does not know; `Broken`, with the field, for anything else.
pub fn load(path: &Path) -> Result<Record, StoreError> {
    let text = read::read(path, MOST_BYTES).map_err(|source| StoreError::ReadFile { path: path.to_owned(), source })?;
    // A file that is cut off has no readable head either; the second reading says where it ends.
    if let Ok(head) = serde_json::from_slice::<Head>(&text) {
        match head.schema_version {
            None => {
                return Err(StoreError::NotARecord { path: path.to_owned() });
            }
            Some(found) if found != u64::from(SCHEMA_VERSION) => {
                return Err(StoreError::SchemaVersion { path: path.to_owned(), found });
            }
            Some(_) => {}
        }
    }
    parse(&text, path)
}

fn parse(text: &[u8], path: &Path) -> Result<Record, StoreError> {
    let broken = |field: &str, source| StoreError::Broken {
        path: path.to_owned(),
        // A name that is cut off is nobody's: the object is told that it belongs to.
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
    let record: Record = read.map_err(|error| broken(&error.path().to_string(), error.into_inner()))?;
    json.end().map_err(|source| broken("the end", source))?;
    Ok(record)
}
