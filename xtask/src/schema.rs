//! `cargo xtask schema`: the JSON schemas in docs/, as the types of what is saved say.
//!
//! The texts come from `looptax internal schema`; this file only stores or compares them.

use std::fs;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::workspace::{cargo, root, shown};

/// What is saved, and where its schema lies.
const SCHEMAS: [(&str, &str); 2] = [
    ("record", "docs/record.schema.json"),
    ("replay", "docs/replay.schema.json"),
];

/// Writes the schemas, or compares only and fails when a file is stale.
pub(crate) fn run(is_check: bool) -> Result<()> {
    for (form, path) in SCHEMAS {
        one(form, path, is_check)?;
    }
    Ok(())
}

fn one(form: &str, schema: &str, is_check: bool) -> Result<()> {
    let mut command = cargo(&[
        "run",
        "--quiet",
        "--locked",
        "--package",
        "looptax",
        "--",
        "internal",
        "schema",
        form,
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
    let path = root()?.join(schema);
    if !is_check {
        fs::create_dir_all(path.parent().expect("the path has a folder"))?;
        return fs::write(&path, output.stdout).with_context(|| format!("cannot write {schema}"));
    }
    let shipped = fs::read(&path).with_context(|| format!("cannot read {schema}"))?;
    if shipped != output.stdout {
        bail!("{schema} is stale: run `cargo xtask schema`");
    }
    Ok(())
}
