//! Determines which processes hold which sockets.
//!
//! Works like `ss -p`: the links in `/proc/PID/fd` contain the inodes of the sockets. Without root, processes of other
//! users cannot be inspected; they are noted as hidden.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;

use crate::kernel;

use crate::discover::process::Process;

/// The processes that hold each socket, by the socket's inode.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    by_socket: HashMap<u64, Vec<u32>>,
    /// The processes that looptax may not inspect.
    pub(crate) hidden: Vec<u32>,
}

impl Owners {
    /// Reads the open files of every process.
    ///
    /// # Cost
    /// A `readlink` per open file.
    pub(crate) fn from_processes(processes: &[Process]) -> Self {
        let mut owners = Self::default();
        let may_follow = may_follow();
        for process in processes {
            let folder = process.file("fd");
            let files = match kernel::names(&folder) {
                Ok(files) => files,
                Err(error) => {
                    // A process that has ended in the meantime does not count as hidden.
                    if error.kind() == ErrorKind::PermissionDenied {
                        owners.hidden.push(process.pid);
                    }
                    continue;
                }
            };
            for file in files {
                let target = kernel::link(folder.join(file));
                // Listing the links requires other rights than following them.
                if let Err(error) = &target
                    && error.kind() == ErrorKind::PermissionDenied
                {
                    if !may_follow {
                        owners.hidden.push(process.pid);
                    }
                    break;
                }
                let target = target.ok();
                let Some(inode) = target.and_then(|it| socket_inode(it.as_os_str().as_bytes())) else {
                    continue;
                };
                let holders = owners.by_socket.entry(inode).or_default();
                // A process may hold a socket through several descriptors.
                if holders.last() != Some(&process.pid) {
                    holders.push(process.pid);
                }
            }
        }
        owners
    }

    /// Returns the processes that hold a socket, in ascending order of their pids.
    pub(crate) fn of_socket(&self, inode: u64) -> &[u32] {
        self.by_socket.get(&inode).map_or(&[], Vec::as_slice)
    }
}

/// Whether looptax has the right to follow the file links of other users' processes (`CAP_SYS_PTRACE`). If looptax has
/// this right and a process still denies access, the process has ended in the meantime, or it is a specially protected
/// process of the machine.
///
/// # Source
/// capabilities(7); `proc_pid_status(5)`, `CapEff`.
fn may_follow() -> bool {
    const SYS_PTRACE: u32 = 19;
    let status = kernel::text("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("CapEff:"));
    let rights = line.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    rights.is_some_and(|it| it >> SYS_PTRACE & 1 == 1)
}

/// Returns the inode in a link such as `socket:[12345]`.
fn socket_inode(target: &[u8]) -> Option<u64> {
    let number = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_sockets_have_a_number() {
        assert_eq!(socket_inode(b"socket:[12345]"), Some(12_345));
        for other in ["pipe:[12345]", "/tmp/socket:[1]", "socket:[]", "socket:[-1]"] {
            assert_eq!(socket_inode(other.as_bytes()), None, "{other}");
        }
    }
}
