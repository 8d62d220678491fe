//! Where the checkout is, how to run a command in it, and the looptax that is measured.
//!
//! Called by every part of the lab. The path is asked for at run time, so that no binary carries it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The folder that holds the root `Cargo.toml`.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("run me as `cargo lab`")?;
    let root = PathBuf::from(manifest).parent().map(PathBuf::from);
    root.context("the lab's folder has no parent")
}

/// Builds the release binary: what people measure with.
pub(crate) fn looptax() -> Result<PathBuf> {
    build("release", &["--release"])
}

/// Builds the debug binary, where nothing is measured.
pub(crate) fn debug_looptax() -> Result<PathBuf> {
    build("debug", &[])
}

fn build(folder: &str, options: &[&str]) -> Result<PathBuf> {
    let args = ["build", "--quiet", "--locked", "--package", "looptax"];
    run_cargo(&[&args, options].concat())?;
    // The lab is <target>/<profile>/lab.
    let own = std::env::current_exe().context("the lab's own program has no path")?;
    let target = own.ancestors().nth(2).context("no target folder")?;
    let binary = target.join(folder).join("looptax");
    if !binary.is_file() {
        bail!("cargo built no {}", binary.display());
    }
    Ok(binary)
}

/// Runs the cargo that runs us, in the checkout, with its output shown.
pub(crate) fn run_cargo(args: &[&str]) -> Result<()> {
    run_to_success(cargo()?.args(args))
}

/// `cargo` in the workspace.
pub(crate) fn cargo() -> Result<Command> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root()?);
    Ok(command)
}

/// Runs a command with its output shown; a failure names the command.
pub(crate) fn run_to_success(command: &mut Command) -> Result<()> {
    let status = command.status();
    let status = status.with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

/// The day, `2026-11-21`.
pub(crate) fn today() -> Result<String> {
    let output = Command::new("date").arg("+%F").output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
