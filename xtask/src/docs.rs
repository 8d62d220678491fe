//! `cargo xtask docs`: makes the parts of docs/ that come from code and data. These files are not in git.
//!
//! Options, codes, man pages, completions and schemas come from `looptax internal documents`, and pages of results from
//! `results`. They have to be made before the book, a package or `make install`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::results;
use crate::workspace::{root, run_to_success};

/// The generated files and folders below docs/; a folder is generated as a whole.
const MADE: [&str; 8] = [
    "src/cli.md",
    "src/codes.md",
    "src/fleet-tables.md",
    "src/results/drivers.md",
    "src/results/machines.md",
    "src/results/traces.md",
    "man",
    "completions",
];
const SCHEMA_ENDING: &str = ".schema.json";

/// Whether this chore makes the file at a path of the checkout.
pub(crate) fn is_made(path: &str) -> bool {
    path.strip_prefix("docs/").is_some_and(|below| {
        let is_in = |made: &str| below.strip_prefix(made).is_some_and(|it| it.is_empty() || it.starts_with('/'));
        below.ends_with(SCHEMA_ENDING) || MADE.into_iter().any(is_in)
    })
}

pub(crate) fn run(looptax: &Path) -> Result<()> {
    let docs = root()?.join("docs");
    for folder in ["man", "completions"].map(|it| docs.join(it)) {
        // Otherwise the page of a removed command would stay.
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    let mut command = Command::new(looptax);
    run_to_success(command.args(["internal", "documents"]).arg(&docs))?;
    for (path, bytes) in results::pages(&root()?)? {
        let path = docs.join(path);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let missing: Vec<PathBuf> = { MADE.iter() }.map(|it| docs.join(it)).filter(|it| !it.exists()).collect();
    if !missing.is_empty() {
        bail!("no generator makes {missing:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_is_made() {
        for path in ["docs/src/cli.md", "docs/man/looptax.1", "docs/record.schema.json"] {
            assert!(is_made(path), "{path}");
        }
        for path in ["docs/src/run.md", "docs/manual.md", "docs/src/results/ways.md", "man/a"] {
            assert!(!is_made(path), "{path}");
        }
    }
}
