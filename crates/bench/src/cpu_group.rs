//! The control groups that limit this process's CPU time, in cgroup version 1 or 2.
//!
//! Only reads. Called for the record's description of the machine, and around each epoch to count how often a limit
//! throttled looptax.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use looptax_host::read;

/// This process's control group under the CPU controller, and the groups above it.
///
/// # Source
/// cgroup-v2.rst: a limit (`cpu.max`) applies to all groups below, and the root group has no limit. For version 1,
/// sched-bwc.rst: `cpu.cfs_quota_us` and `cpu.cfs_period_us`, where a quota of −1 means no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuGroup {
    /// The folder of our own group first, the mount point of the hierarchy last.
    levels: Vec<PathBuf>,
    is_first_version: bool,
}

impl CpuGroup {
    /// Finds the control groups below `root`, which is `/` or the folder of a test. `None` if the kernel lists no CPU
    /// controller.
    ///
    /// If both versions are mounted and version 1 lists a CPU controller, looptax uses version 1.
    pub fn find(root: &Path) -> Option<Self> {
        let text = |path: &str| read::config(&root.join(path)).unwrap_or_default();
        let groups = text("proc/self/cgroup");
        let mounts = text("proc/self/mounts");
        let first = first_version(&groups).map(|group| {
            let folder = mount_point(&mounts, "cgroup", Some("cpu"));
            (group, folder.unwrap_or("/sys/fs/cgroup/cpu"), true)
        });
        let second = || {
            let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
            let folder = mount_point(&mounts, "cgroup2", None);
            Some((group, folder.unwrap_or("/sys/fs/cgroup"), false))
        };
        let (group, folder, is_first_version) = first.or_else(second)?;
        let mount = root.join(folder.trim_start_matches('/'));
        let ancestors = Path::new(group.trim_start_matches('/')).ancestors();
        Some(Self { levels: ancestors.map(|level| mount.join(level)).collect(), is_first_version })
    }

    /// Returns the limit of the nearest level that has a limit. The limit has the form of version 2 (microseconds per
    /// period, and the period in microseconds), such as `50000 100000`. Returns `max 100000` if no level has a limit,
    /// and `None` if no level has a file for the limit.
    pub fn limit(&self) -> Option<String> {
        let limits = || self.levels.iter().filter_map(|level| self.limit_of(level));
        let set = limits().find(|limit| !limit.starts_with("max"));
        set.or_else(|| limits().next())
    }

    /// Returns the limits on memory (in bytes) and on the number of processes: for each, the tightest limit at our
    /// level or above. Only for cgroup version 2.
    pub fn other_limits(&self) -> BTreeMap<String, String> {
        let tightest = |name: &str| {
            let set = self.levels.iter().filter_map(|level| read(level, name)?.parse::<u64>().ok());
            Some((name.to_owned(), set.min()?.to_string()))
        };
        let names = ["memory.max", "memory.high", "pids.max"];
        names.into_iter().filter(|_| !self.is_first_version).filter_map(tightest).collect()
    }

    /// Returns how often the nearest level with a limit has been throttled; if no level has a limit, how often our own
    /// level has been throttled.
    pub fn n_throttled(&self) -> Option<u64> {
        let is_limited = |level: &&PathBuf| {
            let limit = self.limit_of(level);
            limit.is_some_and(|limit| !limit.starts_with("max"))
        };
        let limited = self.levels.iter().find(is_limited);
        let text = read(limited.or(self.levels.first())?, "cpu.stat")?;
        let words = text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        words?.trim().parse().ok()
    }

    fn limit_of(&self, level: &Path) -> Option<String> {
        if !self.is_first_version {
            return read(level, "cpu.max");
        }
        let quota_us = read(level, "cpu.cfs_quota_us")?;
        let period_us = read(level, "cpu.cfs_period_us")?;
        let quota_us = if quota_us.starts_with('-') { "max" } else { &quota_us };
        Some(format!("{quota_us} {period_us}"))
    }
}

/// Returns the group from a line such as `4:cpu,cpuacct:/a/b`.
fn first_version(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        controllers.split(',').any(|it| it == "cpu").then_some(group)
    })
}

/// Finds the mount point of a file system of this kind. If `option` is given, the mount must have this option.
fn mount_point<'a>(mounts: &'a str, kind: &str, option: Option<&str>) -> Option<&'a str> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (folder, is_kind) = (words.next()?, words.next()? == kind);
        let mut options = words.next()?.split(',');
        let has_option = option.is_none_or(|option| options.any(|it| it == option));
        (is_kind && has_option).then_some(folder)
    })
}

fn read(level: &Path, name: &str) -> Option<String> {
    let text = read::config(&level.join(name)).ok()?;
    Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "files in a scratch folder")]
mod tests {
    use super::*;
    use std::fs;

    const HYBRID: &str = "\
tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
";

    #[track_caller]
    fn check(files: &[(&str, &str)], limit: Option<&str>, n_throttled: Option<u64>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let group = CpuGroup::find(root.path());
        let found = group.as_ref().and_then(CpuGroup::limit);
        assert_eq!(found.as_deref(), limit);
        assert_eq!(group.and_then(|group| group.n_throttled()), n_throttled);
    }

    #[test]
    fn a_limit_of_the_first_version_is_read_in_the_form_of_the_second() {
        let of = |quota: &'static str| {
            [
                ("proc/self/cgroup", "3:cpuset:/z\n2:cpu,cpuacct:/a/b\n0::/c\n"),
                ("proc/self/mounts", HYBRID),
                ("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", quota),
                ("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.stat", "nr_periods 9\nnr_throttled 7\nthrottled_time 12\n"),
                ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "20000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "50000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_throttled 3\n"),
            ]
        };
        check(&of("50000\n"), Some("50000 100000"), Some(7));
        // If our own group has no limit, the limit of the group above throttles us.
        check(&of("-1\n"), Some("20000 50000"), Some(3));
        check(&of("-1\n")[..5], Some("max 100000"), Some(7));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_mount() {
        let files = [
            ("proc/self/cgroup", "1:cpu:/docker/abc\n"),
            ("proc/self/mounts", "cgroup /sys/fs/cgroup/cpu cgroup ro,cpu 0 0\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 2\n"),
        ];
        check(&files, Some("50000 100000"), Some(2));
    }

    #[test]
    fn the_nearest_limit_of_the_second_version_counts() {
        let files = [
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 1\nnr_throttled 0\n"),
            ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/a/cpu.stat", "usage_usec 1\nnr_throttled 4\n"),
        ];
        check(&files, Some("50000 100000"), Some(4));
        check(&files[..3], Some("max 100000"), Some(0));
        check(&files[..1], None, None);
        check(&[], None, None);
    }
}
