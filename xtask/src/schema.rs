//! `cargo xtask schema`: the JSON schemas in docs/, as the types of what is saved say.
//!
//! The texts come from `looptax internal schema`; this file only stores or compares them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::docs::{self, Files};
use crate::workspace::root;

/// What is saved or printed; its schema lies in docs/ as `FORM.schema.json`.
const FORMS: [&str; 11] = [
    "record",
    "replay",
    "found",
    "check",
    "dsn",
    "selfcheck",
    "switch",
    "switches",
    "report-to",
    "fleet-init",
    "fleet",
];

/// Writes the schemas, or compares only and fails when a file is stale.
pub(crate) fn run(looptax: &Path, is_check: bool) -> Result<()> {
    let (mut fresh, mut shipped) = (Files::new(), Files::new());
    for form in FORMS {
        let path = format!("{form}.schema.json");
        let mut command = Command::new(looptax);
        command.args(["internal", "schema", form]);
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot start {command:?}"))?;
        if !output.status.success() || !output.stdout.starts_with(b"{") {
            bail!("{command:?} printed no JSON object: {}", output.status);
        }
        if let Ok(bytes) = fs::read(root()?.join("docs").join(&path)) {
            shipped.insert(path.clone().into(), bytes);
        }
        fresh.insert(path.into(), output.stdout);
    }
    docs::settle(&fresh, &shipped, is_check)
}
