//! The folder of the report page's sources and tests.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::root;

pub(super) fn folder() -> Result<PathBuf> {
    Ok(root()?.join("web"))
}
