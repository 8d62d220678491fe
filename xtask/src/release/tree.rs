//! The files that every package contains, in one folder, and the tarball of this folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::place::{Place, ask};
use crate::workspace::run_to_success;

/// Files of the checkout, each with its name in the folder.
const FILES: [(&str, &str); 10] = [
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("README.md", "README.md"),
    ("docs/completions/_looptax", "completions/_looptax"),
    ("docs/completions/looptax.bash", "completions/looptax.bash"),
    ("docs/completions/looptax.fish", "completions/looptax.fish"),
    ("packaging/looptax-find.service", "examples/looptax-find.service"),
    ("packaging/looptax-connections.conf", "examples/looptax-connections.conf"),
    ("packaging/looptax-containers.conf", "examples/looptax-containers.conf"),
];
/// Folders of the checkout, each with the place of its files in the folder.
const FOLDERS: [(&str, &str); 3] =
    [("docs/man", "man"), ("packaging/systemd", "systemd"), ("packaging/sysusers.d", "sysusers.d")];
/// Files in the folder, each with the name of its compressed copy, without the file extension.
const COMPRESSED: [(&str, &str); 3] =
    [("CHANGELOG.md", "changelog"), ("THIRD-PARTY.txt", "THIRD-PARTY.txt"), ("looptax.cdx.json", "looptax.cdx.json")];

/// Copies the files that no other step makes.
pub(super) fn fill(place: &Place) -> Result<()> {
    for folder in ["completions", "examples", "man", "systemd", "sysusers.d"] {
        fs::create_dir_all(place.tree.join(folder))?;
    }
    for (from, to) in FILES {
        fs::copy(place.root.join(from), place.tree.join(to)).with_context(|| format!("cannot copy {from}"))?;
    }
    for (from, to) in FOLDERS {
        for entry in fs::read_dir(place.root.join(from))? {
            let entry = entry?;
            fs::copy(entry.path(), place.tree.join(to).join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Packs the folder: sorted by name, without an owner of this machine, and with the time of the commit.
pub(super) fn pack(place: &Place) -> Result<()> {
    let stem = place.stem();
    let archive = place.artefacts.join(format!("{stem}.tar"));
    let mut tar = start_tar(place, &archive, &place.tree);
    tar.arg(format!("--transform=s,^\\.,{stem},"));
    run_to_success(tar.args(["--create", "."]))?;
    compress(&archive)
}

/// Returns a tar command for files below `folder`; the caller adds the remaining arguments.
pub(super) fn start_tar(place: &Place, archive: &Path, folder: &Path) -> Command {
    let mut tar = Command::new("tar");
    tar.args(["--format=ustar", "--sort=name", "--mode=u=rwX,go=rX"])
        .args(["--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", place.epoch))
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(folder);
    tar
}

/// Makes compressed copies for packages that need them, and the changelog in Debian's format.
pub(super) fn compress_docs(place: &Place) -> Result<()> {
    for (from, to) in COMPRESSED {
        let copy = place.gzipped.join(to);
        fs::copy(place.tree.join(from), &copy)?;
        compress(&copy)?;
    }
    let pages = place.gzipped.join("man");
    fs::create_dir_all(&pages)?;
    for entry in fs::read_dir(place.tree.join("man"))? {
        let entry = entry?;
        let copy = pages.join(entry.file_name());
        fs::copy(entry.path(), &copy)?;
        compress(&copy)?;
    }
    let changelog = place.gzipped.join("changelog.Debian");
    fs::write(&changelog, debian_changelog(place)?)?;
    compress(&changelog)
}

/// Returns the entry for this version in Debian's format, which refers to the real changelog next to it.
fn debian_changelog(place: &Place) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["--utc", "--rfc-email", "--date"]);
    let date = ask(date.arg(format!("@{}", place.epoch)))?;
    Ok(format!(
        "looptax ({}-1) unstable; urgency=medium\n\n  * The changes are listed in changelog.gz, beside this file.\n\n \
         -- The looptax authors <looptax@users.noreply.github.com>  {date}\n",
        place.version
    ))
}

/// Replaces a file with its compressed copy, whose bytes contain neither the file's name nor a time.
pub(super) fn compress(path: &Path) -> Result<()> {
    let mut gzip = Command::new("gzip");
    run_to_success(gzip.args(["--best", "--no-name", "--force"]).arg(path))
}
