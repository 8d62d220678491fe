//! The path of the workspace, what cargo knows about it, and how to run cargo in it.
//!
//! Called by every chore. Reads only; the path of the checkout is asked for at run time, so that no
//! binary carries it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};

/// Paths, each with its text.
pub(crate) type Texts = Vec<(String, String)>;

/// Not ours, or not text.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// The folder that holds the root `Cargo.toml`.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
    let root = PathBuf::from(manifest).parent().map(PathBuf::from);
    root.context("the xtask folder has no parent")
}

/// The paths of all files of the checkout, and those that are text with their text.
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
        // In a second work tree `.git` is a file.
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

/// All packages and the resolved tree, as the lock file says.
pub(crate) fn metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .current_dir(root()?)
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .context("cargo metadata failed")
}

/// The same with every feature of every package of ours, as deny.toml has it.
pub(crate) fn metadata_of_all_features() -> Result<Metadata> {
    MetadataCommand::new()
        .current_dir(root()?)
        .features(CargoOpt::AllFeatures)
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .context("cargo metadata failed")
}

/// A debug binary that the tests were built with.
pub(crate) fn built(name: &str) -> Result<PathBuf> {
    let folder = metadata()?.target_directory.into_std_path_buf();
    Ok(folder.join("debug").join(name))
}

/// Builds only looptax.
pub(crate) fn looptax() -> Result<PathBuf> {
    run_cargo(&["build", "--quiet", "--locked", "--package", "looptax"])?;
    built("looptax")
}

/// A cargo command in the workspace, with the cargo that runs us.
pub(crate) fn cargo(args: &[&str]) -> Result<Command> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root()?).args(args);
    Ok(command)
}

/// Runs cargo with its output shown.
pub(crate) fn run_cargo(args: &[&str]) -> Result<()> {
    run_to_success(&mut cargo(args)?)
}

/// Runs a command with its output shown; a failure names the command.
pub(crate) fn run_to_success(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

/// Turns a list of findings into an error that shows them all; no finding is success.
pub(crate) fn fail_on(findings: &[String]) -> Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    let noun = if findings.len() == 1 { "finding" } else { "findings" };
    bail!("{} {noun}:\n  {}", findings.len(), findings.join("\n  "));
}
