//! `THIRD-PARTY.txt`: the packages in the binary with their licences, and the text of each licence once.
//!
//! The packages are those that cargo links for the target, without packages that are needed only for building. `cargo
//! xtask licences` checks their licences against deny.toml; this module collects their own files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::Package;

use super::place::{Place, ask};
use crate::workspace::{cargo, metadata};

/// Beginnings of the names of files that a licence requires in the package.
const BEGINNINGS: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// Writes the notices to the files of the packages.
pub(super) fn write(place: &Place) -> Result<()> {
    let linked = linked_packages(place)?;
    let mut text = fs::read_to_string(place.root.join("packaging/third-party-head.txt"))?;
    let mut holders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in metadata()?.packages {
        let name = format!("{} v{}", package.name, package.version);
        if package.source.is_none() || !linked.contains(&name) {
            continue;
        }
        let licence = package.license.as_deref().unwrap_or("see its files");
        writeln!(text, "{} {}: {licence}", package.name, package.version)?;
        for licence_text in licence_texts(&package)? {
            let holder = format!("{} {}", package.name, package.version);
            holders.entry(licence_text).or_default().push(holder);
        }
    }
    let mut sorted: Vec<_> = holders.into_iter().collect();
    sorted.sort_by(|a, b| a.1.cmp(&b.1));
    for (licence_text, packages) in sorted {
        write!(text, "\n{}\n{}\n\n", "-".repeat(79), packages.join(", "))?;
        writeln!(text, "{licence_text}")?;
    }
    for (title, path) in [
        ("The report page's script", "crates/report/assets/LICENSES.txt"),
        ("The GNU C Library", "packaging/LGPL-2.1.txt"),
    ] {
        let body = fs::read_to_string(place.root.join(path))?;
        write!(text, "\n{}\n{title}\n\n{body}", "-".repeat(79))?;
    }
    fs::write(place.tree.join("THIRD-PARTY.txt"), text)?;
    Ok(())
}

/// Returns names and versions of the packages in the binary, as `cargo tree` writes them.
fn linked_packages(place: &Place) -> Result<BTreeSet<String>> {
    let words = "tree --locked --package looptax --edges normal,no-proc-macro --prefix none --no-dedupe --target";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.push(&place.target);
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    Ok(ask(&mut cargo(&words)?)?.lines().map(name).collect())
}

/// Returns the files of a package that a licence requires, sorted by name, without blanks at the ends of lines.
fn licence_texts(package: &Package) -> Result<Vec<String>> {
    let folder = package.manifest_path.parent();
    let folder: &Path = folder.context("a manifest lies in a folder")?.as_std_path();
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let is_notice = BEGINNINGS.iter().any(|it| name.starts_with(it));
        if is_notice && entry.file_type()?.is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    let read = |path| -> Result<String> {
        let text = fs::read_to_string(path)?;
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        Ok(lines.join("\n").trim_matches('\n').to_owned())
    };
    paths.into_iter().map(read).collect()
}
