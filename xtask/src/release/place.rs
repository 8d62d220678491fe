//! The facts about a release: its version, the time of its commit, and its folders.
//!
//! `release` makes this once; every step reads it, and no step changes it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{metadata, root};

/// The architecture of this machine. The release is for the same architecture, because a C library for another one may
/// not be installed.
const MACHINE: &str = std::env::consts::ARCH;

pub(super) struct Place {
    pub(super) root: PathBuf,
    /// The compiler's name for the architecture and the C library. The standard library for this target comes with the
    /// compiler.
    pub(super) target: String,
    /// The architecture's name in container images.
    pub(super) image_machine: &'static str,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) license: String,
    pub(super) repository: String,
    pub(super) commit: String,
    /// The time of the commit, in seconds since 1970. Every file in a package has this time.
    pub(super) epoch: String,
    /// The folder in which cargo puts its output for this target and the profile of releases.
    pub(super) built: PathBuf,
    pub(super) artefacts: PathBuf,
    /// The folder with the files for the packages. The settings of the packaging programs contain this path, so the
    /// folder is always below the root.
    pub(super) tree: PathBuf,
    pub(super) gzipped: PathBuf,
    /// The folder in which the container image is assembled.
    pub(super) image: PathBuf,
    pub(super) tools: PathBuf,
}

impl Place {
    pub(super) fn find(tools: Option<PathBuf>) -> Result<Self> {
        let root = root()?;
        let metadata = metadata()?;
        let mut packages = metadata.packages.iter();
        let looptax = packages.find(|package| *package.name == "looptax");
        let looptax = looptax.context("no package looptax")?;
        let said = |field: &Option<String>| field.clone().context("a field of the manifest is empty");
        let folder = metadata.target_directory.clone().into_std_path_buf();
        let target = format!("{MACHINE}-unknown-linux-gnu");
        let image_machine = match MACHINE {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => bail!("no release is defined for {other}"),
        };
        Ok(Self {
            image_machine,
            version: looptax.version.to_string(),
            description: said(&looptax.description)?,
            license: said(&looptax.license)?,
            repository: said(&looptax.repository)?,
            commit: ask_git(&["rev-parse", "HEAD"])?,
            epoch: ask_git(&["log", "-1", "--format=%ct"])?,
            built: folder.join(&target).join("dist"),
            artefacts: root.join("target/release-artefacts"),
            tree: root.join("target/release-tree/all"),
            gzipped: root.join("target/release-tree/gzipped"),
            image: root.join("target/release-tree/image"),
            tools: tools.unwrap_or_else(|| folder.join("release-tools")),
            target,
            root,
        })
    }

    /// Returns the beginning of the name of every artefact.
    pub(super) fn stem(&self) -> String {
        format!("looptax-{}-{MACHINE}-linux", self.version)
    }

    /// Fails unless the commit has the tag of the version, the changelog has a section about the version, and no file
    /// is changed.
    pub(super) fn refuse_untagged(&self) -> Result<()> {
        let tag = format!("v{}", self.version);
        let tags = ask_git(&["tag", "--points-at", "HEAD"])?;
        if !tags.lines().any(|line| line == tag) {
            bail!("the commit has no tag {tag}; `--dry-run` makes a release of any commit");
        }
        let changelog = std::fs::read_to_string(self.root.join("CHANGELOG.md"))?;
        if !changelog.contains(&format!("\n## [{}]", self.version)) {
            bail!("CHANGELOG.md has no section [{}]", self.version);
        }
        let changed = ask_git(&["status", "--porcelain"])?;
        if !changed.is_empty() {
            bail!("the checkout differs from {tag}:\n{changed}");
        }
        Ok(())
    }
}

fn ask_git(words: &[&str]) -> Result<String> {
    ask(Command::new("git").args(words).current_dir(root()?))
}

/// Returns the output of a command, without the last line break; a failure names the command.
pub(super) fn ask(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed: {}\n{words}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}
