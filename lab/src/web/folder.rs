//! Where the report page's sources and its tests lie.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::root;

pub(super) fn folder() -> Result<PathBuf> {
    Ok(root()?.join("web"))
}
