//! `cargo xtask schema`: docs/record.schema.json, as the record's types say.
//!
//! The text comes from `looptax internal schema`; this file only stores or compares it.

use std::fs;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::workspace::{cargo, root, shown};

const SCHEMA: &str = "docs/record.schema.json";

/// Writes the schema, or compares only and fails when the file is stale.
pub(crate) fn run(is_check: bool) -> Result<()> {
    let mut command = cargo(&[
        "run",
        "--quiet",
        "--locked",
        "--package",
        "looptax",
        "--",
        "internal",
        "schema",
    ])?;
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("{} failed: {}", shown(&command), output.status);
    }
    if !output.stdout.starts_with(b"{") {
        bail!("{} printed no JSON object", shown(&command));
    }
    let path = root()?.join(SCHEMA);
    if !is_check {
        fs::create_dir_all(path.parent().expect("the path has a folder"))?;
        return fs::write(&path, output.stdout).with_context(|| format!("cannot write {SCHEMA}"));
    }
    let shipped = fs::read(&path).with_context(|| format!("cannot read {SCHEMA}"))?;
    if shipped != output.stdout {
        bail!("{SCHEMA} is stale: run `cargo xtask schema`");
    }
    Ok(())
}
