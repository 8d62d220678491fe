//! The path of the workspace, what cargo knows about it, and how to run cargo in it.
//!
//! Called by every chore. This module only reads. It determines the path of the checkout at run time, so that no binary
//! contains this path.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};

/// Paths, each with the text of its file.
pub(crate) type Texts = Vec<(String, String)>;

/// Folders that are not part of the sources, or contain no text.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// Returns the folder that contains the root `Cargo.toml`.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
    let root = PathBuf::from(manifest).parent().map(PathBuf::from);
    root.context("the xtask folder has no parent")
}

/// Returns the paths of all files of the checkout, and the text files with their texts.
pub(crate) fn texts(root: &Path) -> Result<(Vec<String>, Texts)> {
    let mut paths = Vec::new();
    walk(root, "", &mut paths)?;
    paths.sort();
    // A file that is not UTF-8 is not text.
    let read = |path: &String| Some((path.clone(), fs::read_to_string(root.join(path)).ok()?));
    let texts = paths.iter().filter_map(read).collect();
    Ok((paths, texts))
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<()> {
    let full = root.join(folder);
    let entries = fs::read_dir(&full).with_context(|| format!("cannot list {}", full.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}{name}");
        let kind = entry.file_type()?;
        // In a second work tree of git, `.git` is a file.
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            walk(root, &format!("{path}/"), paths)?;
        } else if kind.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

/// Returns all packages and the resolved dependencies, as in the lock file.
pub(crate) fn metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .current_dir(root()?)
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .context("cargo metadata failed")
}

/// Like [`metadata`], but with every feature of every package of the workspace, as deny.toml requires.
pub(crate) fn metadata_of_all_features() -> Result<Metadata> {
    MetadataCommand::new()
        .current_dir(root()?)
        .features(CargoOpt::AllFeatures)
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .context("cargo metadata failed")
}

/// Returns the path of a debug binary that was built together with the tests.
pub(crate) fn built(name: &str) -> Result<PathBuf> {
    let folder = metadata()?.target_directory.into_std_path_buf();
    Ok(folder.join("debug").join(name))
}

/// Builds only looptax, and returns its path.
pub(crate) fn looptax() -> Result<PathBuf> {
    run_cargo(&["build", "--quiet", "--locked", "--package", "looptax"])?;
    built("looptax")
}

/// Returns a cargo command in the workspace, with the cargo that runs this program.
pub(crate) fn cargo(args: &[&str]) -> Result<Command> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root()?).args(args);
    Ok(command)
}

/// Runs cargo and shows its output.
pub(crate) fn run_cargo(args: &[&str]) -> Result<()> {
    run_to_success(&mut cargo(args)?)
}

/// Runs a command and shows its output; a failure names the command.
pub(crate) fn run_to_success(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

/// Turns a list of findings into an error that contains all of them; an empty list is a success.
pub(crate) fn fail_on(findings: &[String]) -> Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    let noun = if findings.len() == 1 { "finding" } else { "findings" };
    bail!("{} {noun}:\n  {}", findings.len(), findings.join("\n  "));
}
