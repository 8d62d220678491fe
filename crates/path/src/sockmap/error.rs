//! Why connections cannot be spliced here, and what to do next.

use std::io;
use std::path::PathBuf;

use looptax_failure::Explain;

/// Splicing of connections failed.
#[derive(Debug, thiserror::Error)]
pub enum SockmapError {
    /// Our programs are assembled for little-endian machines.
    #[error("this processor is big endian, and the programs are made for little endian only")]
    Processor,
    /// There is no cgroup to work in.
    #[error("no cgroup of version 2: {found}")]
    NoCgroup {
        /// What was found instead.
        found: &'static str,
    },
    /// Something about our own cgroup failed.
    #[error("cannot {action} the cgroup `{folder}`")]
    Folder {
        /// What was tried: `make`, `enter`.
        action: &'static str,
        /// Its folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// We may not.
    #[error("cannot {action}: looptax lacks {lack}")]
    Rights {
        /// What was tried.
        action: &'static str,
        /// The capabilities.
        lack: &'static str,
    },
    /// An old kernel's limit on locked memory.
    #[error("cannot {action}: the limit on locked memory is too low (RLIMIT_MEMLOCK)")]
    Memlock {
        /// What was tried.
        action: &'static str,
    },
    /// We have the rights, and it is refused all the same.
    #[error("cannot {action}, though no capability is missing")]
    Policy {
        /// What was tried.
        action: &'static str,
        /// What the kernel says.
        source: io::Error,
    },
    /// The kernel cannot, or has no room.
    #[error("cannot {action}")]
    Kernel {
        /// What was tried.
        action: &'static str,
        /// What the kernel says.
        source: io::Error,
    },
    /// The kernel's check does not let a program pass.
    #[error("cannot load the program `{program}`: the kernel's check says `{words}`")]
    Check {
        /// Its name.
        program: &'static str,
        /// The check's last words.
        words: String,
    },
}

impl Explain for SockmapError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Processor => None,
            Self::NoCgroup { .. } => Some(
                "mount it: `mount -t cgroup2 none /sys/fs/cgroup/unified`, in a folder of any name",
            ),
            Self::Folder { source, .. } => folder_hint(source),
            Self::Rights { .. } => Some(
                "run looptax as root of the machine, not of a user namespace; in a container add \
                 the capabilities BPF and NET_ADMIN",
            ),
            Self::Memlock { .. } => Some("raise it: `ulimit -l unlimited`, or Linux 5.11 or later"),
            Self::Policy { .. } => Some(
                "a container's seccomp profile, lockdown, a security module, or another program \
                 at a cgroup above that lets none be added (`bpftool cgroup tree`) may forbid it",
            ),
            Self::Kernel { source, .. } => kernel_hint(source),
            Self::Check { .. } => Some(NEEDED),
        };
        hint.map(str::to_owned)
    }
}

/// The kernel's own number for what a build lacks, which bpf lets out. Source: linux/errno.h.
const ENOTSUPP: i32 = 524;
/// The link to a cgroup is what came last.
const NEEDED: &str =
    "it needs Linux 5.7 or later, with CONFIG_CGROUP_BPF and CONFIG_BPF_STREAM_PARSER";

fn kernel_hint(source: &io::Error) -> Option<&'static str> {
    match source.raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | ENOTSUPP) => Some(NEEDED),
        Some(libc::E2BIG) => Some("compare fewer servers at once"),
        _ => None,
    }
}

fn folder_hint(source: &io::Error) -> Option<&'static str> {
    match source.kind() {
        io::ErrorKind::PermissionDenied => Some("run looptax as root"),
        io::ErrorKind::ReadOnlyFilesystem => {
            Some("a container needs its cgroup writable: run it privileged, or run on the host")
        }
        _ => None,
    }
}
