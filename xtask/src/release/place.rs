//! The sources and places of a release: version, time of the commit, folders.
//!
//! Asked for once by `release`; every step reads it and none changes it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{metadata, root};

/// The kind of machine that this is and the release is for: a C library of another kind is not at hand everywhere.
const MACHINE: &str = std::env::consts::ARCH;

pub(super) struct Place {
    pub(super) root: PathBuf,
    /// The compiler's name of the machine and its C library; its standard library is that of the compiler itself.
    pub(super) target: String,
    /// The name of the machine in container images.
    pub(super) image_machine: &'static str,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) license: String,
    pub(super) repository: String,
    pub(super) commit: String,
    /// When the commit was made, in seconds since 1970: the time of every file in a package.
    pub(super) epoch: String,
    /// Cargo's output for the target and the profile of releases.
    pub(super) built: PathBuf,
    pub(super) artefacts: PathBuf,
    /// The folder that the packages are filled from; the packagers' settings name it, so it is always below the root.
    pub(super) tree: PathBuf,
    pub(super) gzipped: PathBuf,
    /// Where the container image is put together.
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

    /// The prefix of every artefact's name.
    pub(super) fn stem(&self) -> String {
        format!("looptax-{}-{MACHINE}-linux", self.version)
    }

    /// Fails unless the commit has the tag of the version, the changelog a part of it, and nothing is changed.
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

/// Returns a command's output, without the last line's end; a failure names the command.
pub(super) fn ask(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed: {}\n{words}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}
