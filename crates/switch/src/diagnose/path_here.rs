//! Finds the path at which looptax sees another process's file. Both processes have to see the file's folder, at the
//! same path or at different paths.
//!
//! A folder in a container is often a mounted folder of the host (a volume). The mount tables show such folders; only
//! the file itself shows whether it is the same file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use looptax_host::discover::Process;
use looptax_host::{FileId, kernel, read};

/// A line of `mountinfo`.
///
/// # Source
/// `proc_pid_mountinfo(5)`: the third column is the device, the fourth the mounted folder of the file system, the fifth
/// the mount point.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    device: String,
    root: PathBuf,
    at: PathBuf,
}

/// Returns looptax's path for a process's file; `None` if none of looptax's folders contains the file.
pub(super) fn path_here(process: &Process, path: &Path) -> Option<PathBuf> {
    let wanted = process.view().ok()?.look(path).ok()??;
    let is_same = |it: &PathBuf| {
        let found = read::look(it).ok().flatten();
        found.is_some_and(|it| FileId::from(&it) == FileId::from(&wanted))
    };
    let theirs = mounts(&kernel::read(process.file("mountinfo")).ok()?);
    let ours = mounts(&kernel::read("/proc/self/mountinfo").ok()?);
    let same_path = std::iter::once(path.to_owned());
    same_path.chain(paths(&theirs, &ours, path)).find(is_same)
}

/// Returns the paths in the mounts `ours` at which a file in the mounts `theirs` may be.
fn paths(theirs: &[Mount], ours: &[Mount], path: &Path) -> Vec<PathBuf> {
    // If several file systems are mounted at the same path, only the last one is visible.
    let around = theirs.iter().filter(|it| path.starts_with(&it.at));
    let mount = around.max_by_key(|it| it.at.as_os_str().len());
    // The container's own root folder may also be a folder that looptax sees (Docker's `overlay2/…/merged`), but this
    // folder's path exists only as long as the container.
    let Some(mount) = mount.filter(|it| it.at != Path::new("/")) else {
        return Vec::new();
    };
    let Some(inner) = moved(path, &mount.at, &mount.root) else {
        return Vec::new();
    };
    let same_device = ours.iter().filter(|it| it.device == mount.device);
    same_device.filter_map(|it| moved(&inner, &it.root, &it.at)).collect()
}

/// Replaces the beginning of a path.
fn moved(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    path.strip_prefix(from).ok().map(|rest| to.join(rest))
}

fn mounts(table: &[u8]) -> Vec<Mount> {
    let lines = table.split(|byte| *byte == b'\n');
    let parsed = lines.filter_map(|line| {
        let mut words = line.split(|byte| *byte == b' ').skip(2);
        Some(Mount {
            device: String::from_utf8(words.next()?.to_vec()).ok()?,
            root: unescaped(words.next()?),
            at: unescaped(words.next()?),
        })
    });
    parsed.collect()
}

/// Undoes the kernel's escapes: the kernel writes blanks, tabs, line ends and backslashes as three octal digits.
fn unescaped(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..3).filter(|_| *first == b'\\');
        let number = digits.and_then(|it| std::str::from_utf8(it).ok()).and_then(|it| u8::from_str_radix(it, 8).ok());
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { &behind[3..] } else { behind };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    const THEIRS: &[u8] = b"1 0 0:50 / / rw - overlay overlay rw\n\
        2 1 254:1 /srv/my\\040db/run /run/mysqld rw - ext4 /dev/vda1 rw\n";
    const OURS: &[u8] = b"1 0 254:1 / / rw - ext4 /dev/vda1 rw\n\
        2 1 254:1 /srv /data rw - ext4 /dev/vda1 rw\n3 1 0:20 / /run rw - tmpfs tmpfs rw\n";

    #[track_caller]
    fn check(path: &str, expected: &[&str]) {
        let found = paths(&mounts(THEIRS), &mounts(OURS), Path::new(path));
        let found: Vec<_> = found.iter().map(|it| it.as_os_str().as_bytes()).collect();
        let expected: Vec<_> = expected.iter().map(|it| it.as_bytes()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_shared_folder_is_found_at_our_own_paths() {
        check("/run/mysqld/mysqld.sock", &["/srv/my db/run/mysqld.sock", "/data/my db/run/mysqld.sock"]);
    }

    #[test]
    fn the_root_folder_of_a_container_is_not_shared() {
        let theirs = mounts(b"1 0 0:50 / / rw - overlay overlay rw\n");
        let ours = mounts(b"7 1 0:50 / /var/lib/docker/overlay2/1/merged rw - overlay overlay rw\n");
        assert_eq!(paths(&theirs, &ours, Path::new("/run/x.sock")), [] as [PathBuf; 0]);
    }

    #[test]
    fn what_the_container_keeps_to_itself_is_nowhere() {
        check("/var/lib/mysql/mysql.sock", &[]);
        check("/run/mysqldump.sock", &[]);
    }

    #[test]
    fn a_table_that_is_none_is_empty() {
        assert_eq!(mounts(b"\nx y\n1 2 3 4"), []);
    }
}
