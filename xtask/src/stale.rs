//! Whether the built assets belong to the sources beside them.
//!
//! A file of hashes lies with the assets: one over all sources, one for each asset.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

const HASHES: &str = "crates/report/assets/HASHES";
const ASSETS: [&str; 3] = ["LICENSES.txt", "page.css", "page.js"];
/// What the assets are made of, below web/.
const SOURCES: [&str; 5] = ["build.mjs", "package-lock.json", "package.json", "src", "tsconfig.json"];

/// Writes the hashes of what was built just now.
pub(crate) fn write(root: &Path) -> Result<()> {
    fs::write(root.join(HASHES), hashes(root)?).with_context(|| format!("cannot write {HASHES}"))
}

/// Fails when sources or assets are not those that belong together.
pub(crate) fn check(root: &Path) -> Result<()> {
    let kept = fs::read_to_string(root.join(HASHES));
    let kept = kept.with_context(|| format!("cannot read {HASHES}"))?;
    if kept != hashes(root)? {
        bail!("the assets of the report page are not those of web/: run `cargo xtask web`");
    }
    Ok(())
}

fn hashes(root: &Path) -> Result<String> {
    let mut paths = Vec::new();
    for source in SOURCES {
        collect(&root.join("web").join(source), &mut paths)?;
    }
    paths.sort();
    let mut sources = Sha256::new();
    for path in &paths {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        sources.update(format!("{name} {}\n", text.len()));
        sources.update(text);
    }
    let mut lines = format!("{}  web\n", hex(&sources.finalize()));
    for asset in ASSETS {
        let path = root.join("crates/report/assets").join(asset);
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let _ = writeln!(lines, "{}  {asset}", hex(&Sha256::digest(text)));
    }
    Ok(lines)
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
        write(folder.path()).unwrap();
        folder
    }

    #[track_caller]
    fn check_after(change: impl Fn(&Path), is_fine: bool) {
        let project = project();
        change(project.path());
        assert_eq!(check(project.path()).is_ok(), is_fine);
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
