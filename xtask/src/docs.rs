//! `cargo xtask docs`: options, man page and completions as the argument types say, codes, and pages of results.
//!
//! The former come from `looptax internal cli-docs FOLDER`, which this file has written into a scratch
//! folder, the latter from `results`; both are then copied or compared. Other files in docs/ are written by
//! hand and left alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::results;
use crate::workspace::{fail_on, root, run_to_success};

/// What in docs/ is generated: nothing else may lie in these folders.
const GENERATED: [&str; 7] = [
    "src/cli.md",
    "src/codes.md",
    "src/fleet-tables.md",
    "src/results/drivers.md",
    "src/results/traces.md",
    "man",
    "completions",
];

/// Paths below docs/, and what is in them.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Has looptax write the generated docs, or compares only and fails when they are stale.
pub(crate) fn run(looptax: &Path, is_check: bool) -> Result<()> {
    let scratch = tempfile::tempdir().context("cannot make a scratch folder")?;
    let mut command = Command::new(looptax);
    run_to_success(command.args(["internal", "cli-docs"]).arg(scratch.path()))?;
    let mut fresh = generated_files(scratch.path())?;
    if fresh.is_empty() {
        bail!("{command:?} wrote none of {}", GENERATED.join(", "));
    }
    fresh.extend(results::pages(&root()?)?);
    settle(&fresh, &generated_files(&root()?.join("docs"))?, is_check)
}

/// Makes `shipped`, which lies in docs/, what `fresh` is, or fails when it is not.
pub(crate) fn settle(fresh: &Files, shipped: &Files, is_check: bool) -> Result<()> {
    if is_check {
        return fail_on(&differences(fresh, shipped));
    }
    let docs = root()?.join("docs");
    for path in shipped.keys().filter(|path| !fresh.contains_key(*path)) {
        fs::remove_file(docs.join(path))?;
    }
    for (path, bytes) in fresh {
        let target = docs.join(path);
        fs::create_dir_all(target.parent().expect("a file in docs/ has a folder"))?;
        fs::write(&target, bytes).with_context(|| format!("cannot write {}", target.display()))?;
    }
    Ok(())
}

fn differences(fresh: &Files, shipped: &Files) -> Vec<String> {
    let fresh_ones = fresh.iter().filter_map(|(path, bytes)| {
        let words = match shipped.get(path) {
            Some(old) if old == bytes => return None,
            Some(_) => "is stale",
            None => "is missing",
        };
        Some((path, words))
    });
    let others = shipped.keys().filter(|path| !fresh.contains_key(*path));
    let others = others.map(|path| (path, "is written by nobody"));
    let line = |(path, words): (&PathBuf, _)| {
        let path = path.display();
        format!("docs/{path} {words}: run `cargo xtask docs` and `cargo xtask schema`")
    };
    fresh_ones.chain(others).map(line).collect()
}

fn generated_files(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    for name in GENERATED {
        let path = folder.join(name);
        if path.is_file() {
            files.insert(PathBuf::from(name), fs::read(&path)?);
        } else if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                files.insert(
                    Path::new(name).join(entry.file_name()),
                    fs::read(entry.path())?,
                );
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Files {
        list.iter()
            .map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec()))
            .collect()
    }

    #[track_caller]
    fn check(fresh: &[(&str, &str)], shipped: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(differences(&files(fresh), &files(shipped)), expected);
    }

    #[test]
    fn names_every_file_that_differs() {
        check(&[("src/cli.md", "a")], &[("src/cli.md", "a")], &[]);
        check(
            &[("src/cli.md", "a"), ("man/looptax.1", "b")],
            &[("src/cli.md", "old"), ("man/older.1", "c")],
            &[
                "docs/man/looptax.1 is missing: run `cargo xtask docs` and `cargo xtask schema`",
                "docs/src/cli.md is stale: run `cargo xtask docs` and `cargo xtask schema`",
                "docs/man/older.1 is written by nobody: run `cargo xtask docs` and `cargo xtask schema`",
            ],
        );
    }

    #[test]
    fn reads_only_what_is_generated() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        for name in ["src", "man"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        for name in [
            "src/cli.md",
            "src/run.md",
            "man/looptax.1",
            "record.schema.json",
        ] {
            fs::write(folder.path().join(name), name).expect("a file");
        }
        let found = generated_files(folder.path()).expect("readable");
        assert_eq!(
            found,
            files(&[
                ("src/cli.md", "src/cli.md"),
                ("man/looptax.1", "man/looptax.1")
            ])
        );
    }
}
