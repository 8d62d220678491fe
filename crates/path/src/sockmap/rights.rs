//! Why the kernel refuses with `EPERM`: a capability, a user namespace, or an old kernel's limit.
//!
//! Reads `/proc/self` and asks for the kernel's version, after a refusal only. Called by `mod`.

use std::io;

use looptax_host::kernel;

use super::SockmapError;

/// Bits of the capabilities. Source: linux/capability.h.
const NET_ADMIN: u32 = 12;
const SYS_ADMIN: u32 = 21;
const BPF: u32 = 39;
/// From this kernel on maps are charged to the memory cgroup, not to `RLIMIT_MEMLOCK`.
const NO_MEMLOCK: (u32, u32) = (5, 11);

/// The error that a refused action deserves.
pub(super) fn explain(action: &'static str, source: io::Error) -> SockmapError {
    if source.raw_os_error() != Some(libc::EPERM) {
        return SockmapError::Kernel { action, source };
    }
    let read = |name: &str| kernel::text(format!("/proc/self/{name}")).unwrap_or_default();
    if let Some(lack) = lack(&read("status"), &read("uid_map")) {
        return SockmapError::Rights { action, lack };
    }
    let release = rustix::system::uname();
    if version(&release.release().to_string_lossy()).is_some_and(|it| it < NO_MEMLOCK) {
        return SockmapError::Memlock { action };
    }
    SockmapError::Policy { action, source }
}

/// What we lack, from `/proc/self/status` and `/proc/self/uid_map`; `None` when it is something else.
fn lack(status: &str, uid_map: &str) -> Option<&'static str> {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|word| u64::from_str_radix(word.trim(), 16).ok())
        .unwrap_or_default();
    // CAP_SYS_ADMIN contains both.
    let has = |bit: u32| effective & (1 << bit | 1 << SYS_ADMIN) != 0;
    match (has(BPF), has(NET_ADMIN)) {
        (false, false) => Some("CAP_BPF and CAP_NET_ADMIN"),
        (false, true) => Some("CAP_BPF"),
        (true, false) => Some("CAP_NET_ADMIN"),
        (true, true) => {
            let words: Vec<&str> = uid_map.split_ascii_whitespace().collect();
            let is_first = words == ["0", "0", "4294967295"];
            (!is_first).then_some("CAP_BPF outside its user namespace")
        }
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "         0          0 4294967295\n";

    #[test]
    fn names_the_capability_that_is_missing() {
        for (effective, uid_map, expected) in [
            ("0000000000000000", FIRST, Some("CAP_BPF and CAP_NET_ADMIN")),
            ("0000000000001000", FIRST, Some("CAP_BPF")),
            ("0000008000000000", FIRST, Some("CAP_NET_ADMIN")),
            ("0000008000001000", FIRST, None),
            ("0000000000200000", FIRST, None),
            (
                "000001ffffffffff",
                "0 1000 1\n",
                Some("CAP_BPF outside its user namespace"),
            ),
        ] {
            let status = format!("Name:\tx\nCapEff:\t{effective}\n");
            assert_eq!(lack(&status, uid_map), expected, "{effective}");
        }
    }

    #[test]
    fn reads_the_versions_that_distributions_give_kernels() {
        assert_eq!(version("5.4.0-150-generic"), Some((5, 4)));
        assert_eq!(version("6.18-rc1"), Some((6, 18)));
        assert!(version("5.4.0").unwrap() < NO_MEMLOCK);
        assert!(version("6.1.0").unwrap() > NO_MEMLOCK);
    }
}
