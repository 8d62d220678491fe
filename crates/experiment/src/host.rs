//! The machine as the record describes it, read from /proc and /sys.
//!
//! This module only reads. If the host does not report a fact, the record does not contain the fact either. The module
//! is used once per run.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use looptax_bench::CpuGroup;
use looptax_host::read;
use looptax_model::record::Host;

/// Maximum size of a kernel configuration in bytes; real configurations have some 300 kB.
const MOST_CONFIG: u64 = 4 << 20;

/// The kernel settings (sysctl) that change how loopback TCP behaves.
const SYSCTLS: [&str; 8] = [
    "net.core.rmem_default",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_wmem",
    "net.ipv4.ip_local_port_range",
];

/// Returns the facts about this machine that affect results.
pub fn host() -> Host {
    let n_cores = looptax_bench::allowed_cores().map_or(0, |cores| cores.len());
    Host { arch: Some(std::env::consts::ARCH.to_owned()), cpus: n_cores as u32, ..Files::below(Path::new("/")).host() }
}

/// The pseudo files below a root folder: `/`, or a folder made by a test.
struct Files {
    root: PathBuf,
}

impl Files {
    fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn host(&self) -> Host {
        let cpuinfo = self.text("proc/cpuinfo").unwrap_or_default();
        Host {
            kernel: self.kernel(),
            arch: None,
            cpu_model: field(&cpuinfo, "model name"),
            cpus: 0,
            clocksource: self.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: self.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            hypervisor: field(&cpuinfo, "flags").map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
            smt: self.text("sys/devices/system/cpu/smt/active").map(|active| active == "1"),
            cgroup_cpu_max: CpuGroup::find(&self.root).and_then(|group| group.limit()),
            cpuset: self.text("proc/self/status").and_then(|status| field(&status, "Cpus_allowed_list")),
            preemption: self.preemption(),
            sched_features: self.text("sys/kernel/debug/sched/features"),
            cgroup_limits: CpuGroup::find(&self.root).map(|group| group.other_limits()).unwrap_or_default(),
            mitigations: self.mitigations(),
            sysctls: self.sysctls(),
            lo_mtu: self.text("sys/class/net/lo/mtu").and_then(|mtu| mtu.parse().ok()),
            thp: self.text("sys/kernel/mm/transparent_hugepage/enabled").and_then(|modes| chosen(&modes)),
            irq_time_accounting: self.irq_time_accounting(),
        }
    }

    /// Returns the text of a file without its last line break; `None` if the file cannot be read or is empty.
    fn text(&self, path: &str) -> Option<String> {
        let text = read::config(&self.root.join(path)).ok()?;
        let text = text.trim_end();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn kernel(&self) -> String {
        let parts = ["proc/sys/kernel/osrelease", "proc/sys/kernel/version"];
        let parts: Vec<String> = parts.iter().filter_map(|path| self.text(path)).collect();
        parts.join(" ")
    }

    fn mitigations(&self) -> BTreeMap<String, String> {
        let folder = "sys/devices/system/cpu/vulnerabilities";
        let paths = read::list(&self.root.join(folder)).unwrap_or_default();
        let names = { paths.iter() }.filter_map(|it| Some(it.file_name()?.to_str()?.to_owned()));
        names
            .filter_map(|name| Some((self.text(&format!("{folder}/{name}"))?, name)))
            .map(|(state, name)| (name, state))
            .collect()
    }

    fn sysctls(&self) -> BTreeMap<String, String> {
        let value = |name: &str| {
            let path = format!("proc/sys/{}", name.replace('.', "/"));
            let words = self.text(&path)?;
            Some(words.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let known = SYSCTLS.into_iter();
        known.filter_map(|name| Some((name.to_owned(), value(name)?))).collect()
    }

    /// Returns the kernel's current preemption mode, if the kernel reports it or its command line sets it; otherwise
    /// the mode with which the kernel was built.
    ///
    /// # Source
    /// kernel/sched/core.c and debug.c: `sched/preempt` shows the current mode in parentheses, and `preempt=` sets the
    /// mode. If `PREEMPT_RT` is built in, the kernel's version string contains `PREEMPT_RT`, and the mode cannot be
    /// changed.
    fn preemption(&self) -> Option<String> {
        let version = self.text("proc/sys/kernel/version")?;
        let words = || version.split_whitespace();
        if words().any(|it| it == "PREEMPT_RT") {
            return Some("rt".to_owned());
        }
        let in_force = || {
            let all = self.text("sys/kernel/debug/sched/preempt")?;
            let (_, rest) = all.split_once('(')?;
            Some(rest.split_once(')')?.0.to_owned())
        };
        let told = || {
            let line = self.text("proc/cmdline")?;
            let asked = line.split_whitespace().rev().find_map(|it| it.strip_prefix("preempt="))?;
            // The kernel accepts only these values.
            ["none", "voluntary", "full", "lazy"].contains(&asked).then(|| asked.to_owned())
        };
        let is_fixed = !words().any(|it| it == "PREEMPT_DYNAMIC");
        let built = || {
            let config = self.config()?;
            let models = [
                ("PREEMPT_NONE", "none"),
                ("PREEMPT_VOLUNTARY", "voluntary"),
                ("PREEMPT_LAZY", "lazy"),
                ("PREEMPT", "full"),
            ];
            let is_set = |name: &str| config.lines().any(|line| line == format!("CONFIG_{name}=y"));
            models.into_iter().find(|(name, _)| is_set(name)).map(|(_, model)| model.to_owned())
        };
        let is_full = is_fixed && words().any(|it| it == "PREEMPT");
        in_force()
            .or_else(|| told().filter(|_| !is_fixed))
            .or_else(built)
            .or_else(|| is_full.then(|| "full".to_owned()))
    }

    /// Whether the kernel counts the CPU time of interrupts separately, according to its configuration.
    fn irq_time_accounting(&self) -> Option<bool> {
        let config = self.config()?;
        Some(config.lines().any(|line| line == "CONFIG_IRQ_TIME_ACCOUNTING=y"))
    }

    /// Returns the kernel's configuration: distributions store it in /boot, and some kernels contain it.
    fn config(&self) -> Option<String> {
        let release = self.text("proc/sys/kernel/osrelease")?;
        self.text(&format!("boot/config-{release}")).or_else(|| {
            let packed = read::read(&self.root.join("proc/config.gz"), MOST_CONFIG).ok()?;
            let mut text = String::new();
            GzDecoder::new(&*packed).take(MOST_CONFIG).read_to_string(&mut text).ok()?;
            Some(text)
        })
    }
}

/// Returns the value from the first line of the form `key : value` with this key.
fn field(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// Returns the word in brackets: `madvise` in `always [madvise] never`.
fn chosen(modes: &str) -> Option<String> {
    let (_, rest) = modes.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "files in a scratch folder")]
mod tests {
    use super::*;
    use std::fs;

    fn host_of(files: &[(&str, &str)]) -> Host {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Files::below(root.path()).host()
    }

    #[test]
    fn a_host_that_tells_nothing_has_no_facts() {
        assert_eq!(host_of(&[]), Host::default());
    }

    #[test]
    fn facts_are_read_as_the_kernel_prints_them() {
        let found = host_of(&[
            ("proc/sys/kernel/osrelease", "6.1.0-9\n"),
            ("proc/sys/kernel/version", "#1 SMP Debian\n"),
            ("boot/config-6.1.0-9", "A=m\nCONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_PREEMPT_VOLUNTARY=y\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "1000\n"),
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nflags\t\t: fpu hypervisor sse\n"),
            ("proc/self/status", "Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"),
            ("sys/devices/system/cpu/smt/active", "0\n"),
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
            ("sys/class/net/lo/mtu", "65536\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
        ]);
        assert_eq!(found.kernel, "6.1.0-9 #1 SMP Debian");
        assert_eq!(found.cpu_model.as_deref(), Some("A CPU @ 2 GHz"));
        assert_eq!(found.cpuset.as_deref(), Some("0-1"));
        assert_eq!((found.hypervisor, found.smt), (Some(true), Some(false)));
        assert_eq!(found.irq_time_accounting, Some(true));
        assert_eq!((found.preemption.as_deref(), &*found.cgroup_limits["memory.max"]), (Some("voluntary"), "1000"));
        assert_eq!(found.mitigations["meltdown"], "Not affected");
        assert_eq!(found.lo_mtu, Some(65_536));
        assert_eq!(found.thp.as_deref(), Some("madvise"));
        assert_eq!(found.sysctls["net.ipv4.tcp_rmem"], "4096 131072 6291456");
        assert_eq!((found.governor, found.clocksource), (None, None));
    }

    #[track_caller]
    fn check_limit(own: Option<&str>, above: Option<&str>, expected: Option<&str>) {
        let mut files = vec![("proc/self/cgroup", "0::/a/b\n")];
        files.extend(own.map(|limit| ("sys/fs/cgroup/a/b/cpu.max", limit)));
        files.extend(above.map(|limit| ("sys/fs/cgroup/cpu.max", limit)));
        assert_eq!(host_of(&files).cgroup_cpu_max.as_deref(), expected);
    }

    #[test]
    fn the_nearest_limit_of_the_control_group_counts() {
        check_limit(Some("max 100000\n"), None, Some("max 100000"));
        check_limit(Some("max 100000"), Some("50000 100000"), Some("50000 100000"));
        check_limit(Some("20000 100000"), Some("50000 100000"), Some("20000 100000"));
        check_limit(None, None, None);
    }

    #[track_caller]
    fn check_preemption(version: &str, files: &[(&str, &str)], expected: Option<&str>) {
        let kernel = [("proc/sys/kernel/osrelease", "7.0\n"), ("proc/sys/kernel/version", version)];
        let found = host_of(&[&kernel, files].concat());
        assert_eq!(found.preemption.as_deref(), expected, "{version} {files:?}");
    }

    #[test]
    fn the_preemption_model_is_the_one_in_force() {
        let dynamic = "#1 SMP PREEMPT_DYNAMIC Debian";
        let in_force = ("sys/kernel/debug/sched/preempt", "none voluntary full (lazy)\n");
        let built = ("boot/config-7.0", "CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y\n");
        let line = ("proc/cmdline", "root=/ preempt=full quiet\n");
        check_preemption(dynamic, &[built, line, in_force], Some("lazy"));
        check_preemption(dynamic, &[built, line], Some("full"));
        check_preemption(dynamic, &[built], Some("none"));
        check_preemption(dynamic, &[], None);
        check_preemption("#1 SMP PREEMPT_RT", &[built], Some("rt"));
        check_preemption("#1 SMP PREEMPT", &[], Some("full"));
        check_preemption("#1 SMP", &[line], None);
    }
}
