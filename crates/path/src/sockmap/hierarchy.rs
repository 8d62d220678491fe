//! Where the cgroup (version 2) lies that this process is in.
//!
//! Reads `/proc/self/cgroup` and `/proc/self/mountinfo`; makes nothing. On hosts with both versions the
//! tree of version 2 is mounted beside the others. Called by `cgroup` and by the look beforehand.

use std::path::{Component, Path, PathBuf};

use looptax_host::kernel;

use super::SockmapError;

/// The folder of our own cgroup.
///
/// # Errors
/// [`SockmapError::NoCgroup`] with what was found instead.
pub(super) fn own_folder() -> Result<PathBuf, SockmapError> {
    let read = |path: &str| kernel::text(path).unwrap_or_default();
    folder_of(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
        .map_err(|found| SockmapError::NoCgroup { found })
}

/// The folder, from the two files' texts; else what is in the way.
///
/// # Source
/// cgroups(7): the line `0::PATH` is version 2. `proc_pid_mountinfo(5)`: fields 4 and 5 are which part of
/// the tree is mounted, and where; the kind follows a single hyphen.
fn folder_of(cgroup: &str, mountinfo: &str) -> Result<PathBuf, &'static str> {
    let path = cgroup
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .ok_or("this kernel has none, or /proc is not mounted")?;
    let mounts: Vec<(&str, &str)> = mountinfo.lines().filter_map(mount_of).collect();
    if mounts.is_empty() {
        return Err("it is not mounted");
    }
    let below = |(root, place): &(&str, &str)| {
        let rest = Path::new(path).strip_prefix(root).ok()?;
        let is_inside = !rest.components().any(|part| part == Component::ParentDir);
        is_inside.then(|| Path::new(place).join(rest))
    };
    let found = mounts.iter().find_map(below);
    found.ok_or("the part of it that we are in is not mounted")
}

/// Root and place of a mounted tree of version 2.
fn mount_of(line: &str) -> Option<(&str, &str)> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let found = (fields.next()?, fields.next()?);
    kind.starts_with("cgroup2 ").then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
        32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n";
    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
    const BOUND: &str = "30 23 0:26 /docker/5a /sys/fs/cgroup ro - cgroup2 cgroup rw\n";

    #[track_caller]
    fn check(cgroup: &str, mountinfo: &str, expected: Result<&str, &str>) {
        let found = folder_of(cgroup, mountinfo);
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn finds_our_folder_wherever_the_tree_is_mounted() {
        check("4:memory:/x\n0::/\n", HYBRID, Ok("/sys/fs/cgroup/unified/"));
        check("0::/a/b c\n", UNIFIED, Ok("/sys/fs/cgroup/a/b c"));
        check("0::/docker/5a/b\n", BOUND, Ok("/sys/fs/cgroup/b"));
    }

    #[test]
    fn says_what_is_missing() {
        check(
            "4:memory:/x\n",
            UNIFIED,
            Err("this kernel has none, or /proc is not mounted"),
        );
        let others = HYBRID.lines().next().unwrap();
        check("0::/\n", others, Err("it is not mounted"));
        let outside = Err("the part of it that we are in is not mounted");
        check("0::/docker/6b\n", BOUND, outside);
        check("0::/../other\n", UNIFIED, outside);
    }
}
