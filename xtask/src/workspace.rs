//! Where the workspace is, what cargo knows about it, and how to run cargo in it.
//!
//! Called by every chore. Reads only; the path of the checkout is asked for at run time, so that no
//! binary carries it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};

/// The folder that holds the root `Cargo.toml`.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("run me as `cargo xtask`")?;
    let root = PathBuf::from(manifest).parent().map(PathBuf::from);
    root.context("the xtask folder has no parent")
}

/// All packages and the resolved tree, as the lock file says.
pub(crate) fn metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .current_dir(root()?)
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .context("cargo metadata failed")
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
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed: {status}", shown(command));
    }
    Ok(())
}

/// The command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    let args = command
        .get_args()
        .map(|arg| arg.to_string_lossy().into_owned());
    format!(
        "`{}`",
        std::iter::once(name)
            .chain(args)
            .collect::<Vec<_>>()
            .join(" ")
    )
}

/// Turns a list of findings into an error that shows them all; no finding is success.
pub(crate) fn fail_on(findings: &[String]) -> Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    let noun = if findings.len() == 1 {
        "finding"
    } else {
        "findings"
    };
    bail!("{} {noun}:\n  {}", findings.len(), findings.join("\n  "));
}
