//! Checks whether built assets were made from their present sources.
//!
//! A file of hashes is next to the assets: it has one hash of all sources, and one hash of each asset.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

/// Assets that are built from sources and checked in.
pub(crate) struct Built {
    /// The folder of the sources.
    sources: &'static str,
    /// The names of the sources in that folder.
    source_names: &'static [&'static str],
    /// The folder of the assets, which also contains the file of hashes.
    assets: &'static str,
    asset_names: &'static [&'static str],
    /// The command that builds the assets.
    by: &'static str,
}

/// The script and style of the report's page.
pub(crate) const PAGE: Built = Built {
    sources: "web",
    source_names: &["build.mjs", "package-lock.json", "package.json", "src", "tsconfig.json"],
    assets: "crates/report/assets",
    asset_names: &["LICENSES.txt", "page.css", "page.js"],
    by: "cargo xtask web",
};

/// The programs for the kernel.
pub(crate) const EYES: Built = Built {
    sources: "crates/host/src/eyes/kernel",
    source_names: &["bytes.bpf.c", "kernel.h", "sockets.h", "turns.bpf.c"],
    assets: "crates/host/src/eyes/kernel",
    asset_names: &["bytes.bpf.o", "turns.bpf.o"],
    by: "cargo xtask eyes",
};

impl Built {
    /// Writes the hashes of the sources and of the assets that were just built from them.
    pub(crate) fn write(&self, root: &Path) -> Result<()> {
        let path = root.join(self.assets).join("HASHES");
        fs::write(&path, self.hashes(root)?).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Fails if the assets were not made from the present sources.
    pub(crate) fn check(&self, root: &Path) -> Result<()> {
        let path = root.join(self.assets).join("HASHES");
        let kept = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if kept != self.hashes(root)? {
            bail!("the files in {} were not made from {}: run `{}`", self.assets, self.sources, self.by);
        }
        Ok(())
    }

    fn hashes(&self, root: &Path) -> Result<String> {
        let mut paths = Vec::new();
        for source in self.source_names {
            collect(&root.join(self.sources).join(source), &mut paths)?;
        }
        paths.sort();
        let mut sources = Sha256::new();
        for path in &paths {
            let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
            sources.update(format!("{name} {}\n", text.len()));
            sources.update(text);
        }
        let mut lines = format!("{}  {}\n", hex(&sources.finalize()), self.sources);
        for asset in self.asset_names {
            let path = root.join(self.assets).join(asset);
            let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let _ = writeln!(lines, "{}  {asset}", hex(&Sha256::digest(text)));
        }
        Ok(lines)
    }
}

fn collect(path: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        paths.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))?;
    for entry in entries {
        collect(&entry?.path(), paths)?;
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["web/src", "crates/report/assets"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let files = [
            "web/build.mjs",
            "web/package-lock.json",
            "web/package.json",
            "web/tsconfig.json",
            "web/src/main.ts",
            "crates/report/assets/LICENSES.txt",
            "crates/report/assets/page.css",
            "crates/report/assets/page.js",
        ];
        for file in files {
            fs::write(folder.path().join(file), file).unwrap();
        }
        PAGE.write(folder.path()).unwrap();
        folder
    }

    #[track_caller]
    fn check_after(change: impl Fn(&Path), is_fine: bool) {
        let project = project();
        change(project.path());
        assert_eq!(PAGE.check(project.path()).is_ok(), is_fine);
    }

    #[test]
    fn a_change_on_either_side_makes_the_assets_stale() {
        check_after(|_| (), true);
        for file in ["web/src/main.ts", "crates/report/assets/page.js"] {
            check_after(|root| fs::write(root.join(file), "another").unwrap(), false);
        }
        check_after(|root| fs::write(root.join("web/src/new.ts"), "").unwrap(), false);
        check_after(|root| fs::remove_file(root.join("web/src/main.ts")).unwrap(), false);
        check_after(|root| fs::write(root.join("web/README"), "").unwrap(), true);
    }
}
