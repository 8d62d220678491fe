//! The path of the checkout, functions that run a command in it, and the looptax that is measured.
//!
//! Called by every part of the lab. The path is determined at run time, so that no binary contains it.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Serialize;

const LONGEST_ENTRY: usize = 390;

/// Returns the folder that contains the root `Cargo.toml`.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo lab`")?;
    let root = PathBuf::from(manifest).parent().map(PathBuf::from);
    root.context("the lab's folder has no parent")
}

/// Builds the release binary, with which users measure; returns its path.
pub(crate) fn looptax() -> Result<PathBuf> {
    build("release", &["--release"])
}

/// Builds the debug binary, for chores that measure nothing; returns its path.
pub(crate) fn debug_looptax() -> Result<PathBuf> {
    build("debug", &[])
}

/// Writes a TOML file of tables, with one line for each entry. A table inside an entry takes several lines only if one
/// line would be longer than [`LONGEST_ENTRY`].
pub(crate) fn write_tables(file: &str, head: &str, tables: &impl Serialize) -> Result<()> {
    let tables = toml::Table::try_from(tables).with_context(|| format!("{file}: not valid TOML"))?;
    let mut text = head.to_owned();
    for (name, table) in &tables {
        let _ = write!(text, "\n[{}]\n", key(name));
        for (name, value) in table.as_table().into_iter().flatten() {
            entry(&key(name), value, &mut text);
        }
    }
    fs::write(root()?.join(file), text).with_context(|| format!("cannot write {file}"))
}

fn entry(name: &str, value: &toml::Value, text: &mut String) {
    let line = format!("{name} = {value}\n");
    match value.as_table() {
        Some(table) if line.len() > LONGEST_ENTRY => {
            for (inner, value) in table {
                entry(&format!("{name}.{}", key(inner)), value, text);
            }
        }
        _ => text.push_str(&line),
    }
}

/// Returns a key in TOML syntax.
fn key(name: &str) -> String {
    let is_bare = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if name.chars().all(is_bare) { name.to_owned() } else { toml::Value::from(name).to_string() }
}

fn build(folder: &str, options: &[&str]) -> Result<PathBuf> {
    let args = ["build", "--quiet", "--locked", "--package", "looptax"];
    run_cargo(&[&args, options].concat())?;
    // The path of the lab's program is <target>/<profile>/lab.
    let own = std::env::current_exe().context("the lab's own program has no path")?;
    let target = own.ancestors().nth(2).context("no target folder")?;
    let binary = target.join(folder).join("looptax");
    if !binary.is_file() {
        bail!("cargo built no {}", binary.display());
    }
    Ok(binary)
}

/// Runs the cargo that runs this program, in the checkout; shows its output.
pub(crate) fn run_cargo(args: &[&str]) -> Result<()> {
    run_to_success(cargo()?.args(args))
}

pub(crate) fn cargo() -> Result<Command> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root()?);
    Ok(command)
}

/// Runs a command and shows its output; an error contains the command.
pub(crate) fn run_to_success(command: &mut Command) -> Result<()> {
    let status = command.status();
    let status = status.with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

/// Returns today's date, as in `2026-11-21`.
pub(crate) fn today() -> Result<String> {
    let output = Command::new("date").arg("+%F").output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
