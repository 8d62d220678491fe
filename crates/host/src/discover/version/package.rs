//! Finds the version of a program in the package database, read as text.
//!
//! Debian's `dpkg` and Alpine's `apk` have text files, which are read; none of their programs is executed. RPM's
//! database is not text, and is not read. A package counts only if the file at its path is the running file.

use std::io::Read;
use std::path::Path;

use crate::read as host;
use memchr::memmem;

use super::file_now::FileNow;
use super::leading::leading_version;

const DPKG: &str = "/var/lib/dpkg";
const APK: &str = "/lib/apk/db/installed";
/// The maximum number of bytes read from one file of a package database: the status file for 5,000 packages has 6 MB.
const MOST_BYTES: u64 = 32 << 20;

/// Returns the version of the package that contains a program's file, without the part that the distribution adds.
pub(super) fn version_of(path: &Path, now: FileNow) -> Option<String> {
    let text = path.to_str()?;
    let version = of_dpkg(Path::new(DPKG), text).or_else(|| of_apk(Path::new(APK), text))?;
    // The file is inspected only after a package was found for the path, because another user may have chosen the path.
    let there = host::look(path).ok()??;
    (FileNow::from(&there) == now).then_some(version)
}

/// Returns the path. If it starts with `/usr/`, also returns the path without `/usr`: if `/bin` is a link to
/// `/usr/bin`, a package may list the same file under the shorter path.
fn spellings(path: &str) -> impl Iterator<Item = &str> {
    let shorter = path.strip_prefix("/usr").filter(|it| it.starts_with('/'));
    std::iter::once(path).chain(shorter)
}

fn of_dpkg(folder: &Path, path: &str) -> Option<String> {
    let is_owner = |list: &Path| {
        let Some(text) = read(list) else { return false };
        let mut lines = spellings(path).map(|it| format!("\n{it}\n"));
        lines.any(|it| memmem::find(&text, it.as_bytes()).is_some())
    };
    let mut lists = host::list(&folder.join("info")).ok()?.into_iter();
    let list = lists.find(|it| it.extension().is_some_and(|it| it == "list") && is_owner(it))?;
    let package = list.file_stem()?.to_str()?;
    // The name of a package may include an architecture, such as `libc6:amd64`.
    let name = package.split(':').next()?;
    let status = read(&folder.join("status"))?;
    let status = String::from_utf8_lossy(&status);
    let mut paragraphs = status.split("\n\n");
    let is_it = |it: &&str| it.lines().next() == Some(&format!("Package: {name}"));
    let paragraph = paragraphs.find(is_it)?;
    let version = { paragraph.lines() }.find_map(|it| it.strip_prefix("Version: "))?;
    upstream(version)
}

/// Finds the package that contains the file in apk's database; returns the package's version.
///
/// # Source
/// apk's database: `P:` is a package's name, `V:` its version, `F:` a folder, `R:` a file in the folder before it.
fn of_apk(database: &Path, path: &str) -> Option<String> {
    let text = read(database)?;
    let text = String::from_utf8_lossy(&text);
    let (mut version, mut folder) = ("", "");
    for line in text.lines() {
        let Some((letter, value)) = line.split_once(':') else {
            continue;
        };
        match letter {
            "P" => version = "",
            "V" => version = value,
            "F" => folder = value,
            "R" if path.strip_prefix('/')?.strip_prefix(folder)?.strip_prefix('/') == Some(value) => {
                return upstream(version);
            }
            _ => {}
        }
    }
    None
}

/// Returns the upstream version, such as `10.11.19` from `1:10.11.19-0+deb12u1` or from `10.11.19-r0`.
fn upstream(version: &str) -> Option<String> {
    let version = version.split_once(':').map_or(version, |it| it.1);
    let version = version.rsplit_once('-').map_or(version, |it| it.0);
    leading_version(version.as_bytes()).map(str::to_owned)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = host::open(path).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;

    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn dpkg_s_lists_and_status_tell() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        put(&file("info/bash.list"), "/.\n/bin\n/bin/bash\n");
        put(&file("info/mongodb-server:amd64.list"), "/.\n/usr/bin/mongod\n");
        put(
            &file("status"),
            "Package: bash\nStatus: x\nVersion: 5.2.15-2+b9\n\nPackage: mongodb-server\nVersion: 1:7.0.5-1~x\n",
        );
        let check = |path, expected| {
            assert_eq!(of_dpkg(folder.path(), path).as_deref(), expected, "{path}");
        };
        check("/usr/bin/mongod", Some("7.0.5"));
        check("/usr/bin/bash", Some("5.2.15"));
        check("/usr/bin/mongo", None);
        check("/srv/mongod", None);
    }

    #[test]
    fn apk_s_database_tells() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("installed");
        put(&path, "P:a\nV:1.0-r0\nF:usr/bin\nR:a\n\nP:mongodb\nV:7.0.5-r3\nF:usr\nF:usr/bin\nR:mongod\nZ:Q1x\n");
        let check = |program, expected| {
            assert_eq!(of_apk(&path, program).as_deref(), expected, "{program}");
        };
        check("/usr/bin/mongod", Some("7.0.5"));
        check("/usr/mongod", None);
        check("/usr/bin/mongodx", None);
    }

    #[test]
    fn a_file_in_the_place_of_a_packaged_one_has_no_version_of_a_package() {
        if !Path::new(DPKG).join("status").exists() {
            return;
        }
        let now = FileNow::from(&rustix::fs::stat("/bin/sh").unwrap());
        let mut other = now;
        other.inode = 0;
        assert_eq!(version_of(Path::new("/bin/sh"), other), None);
    }
}
