//! Reads a thread's status from `/proc`: its process, user, groups and rights.

use std::io::{self, Read};

use looptax_host::kernel;

use crate::sys::identity::Identity;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) pid: i32,
    pub(crate) identity: Identity,
    pub(crate) n_threads: u32,
    /// Number of seccomp filters of the thread; `None` before Linux 5.10.
    pub(crate) n_filters: Option<u32>,
}

/// Large enough for the status of a process with a few hundred groups.
const STATUS_BYTES: usize = 4096;

/// Reads `/proc/TID/status`.
pub(crate) fn status(tid: i32) -> io::Result<Status> {
    let mut file = kernel::open(format!("/proc/{tid}/status"))?;
    let mut start = [0; STATUS_BYTES];
    let n_bytes = file.read(&mut start)?;
    let mut rest = Vec::new();
    if n_bytes == STATUS_BYTES {
        file.read_to_end(&mut rest)?;
        rest.splice(..0, start);
    }
    let text = if rest.is_empty() { &start[..n_bytes] } else { &rest };
    parse(text).ok_or_else(|| io::Error::from_raw_os_error(libc::EIO))
}

/// # Source
/// `proc_pid_status(5)`: `Uid` and `Gid` are real, effective, saved and file-system ids.
fn parse(text: &[u8]) -> Option<Status> {
    // The thread's name may contain bytes that are not UTF-8.
    let text = String::from_utf8_lossy(text);
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let ids = |name: &str| -> Option<Vec<u32>> {
        let words = field(name)?.split_ascii_whitespace();
        words.map(|it| it.parse().ok()).collect()
    };
    let (uids, gids) = (ids("Uid")?, ids("Gid")?);
    let mut groups = ids("Groups")?;
    groups.sort_unstable();
    let number = |name: &str| field(name)?.trim().parse().ok();
    Some(Status {
        n_threads: number("Threads").unwrap_or(u32::MAX),
        n_filters: number("Seccomp_filters"),
        pid: field("Tgid")?.trim().parse().ok()?,
        identity: Identity {
            euid: *uids.get(1)?,
            egid: *gids.get(1)?,
            fsuid: *uids.get(3)?,
            fsgid: *gids.get(3)?,
            groups,
            capabilities: u64::from_str_radix(field("CapEff")?.trim(), 16).ok()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_who_somebody_is() {
        let text = "Name:\tUid:\nUmask:\t0022\nTgid:\t17\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n\
                    Groups:\t9 3 \nCapEff:\t000001ffffffffff\n";
        let found = parse(text.as_bytes()).unwrap();
        assert_eq!(found.pid, 17);
        let Identity { euid, egid, groups, .. } = found.identity.clone();
        assert_eq!((euid, egid, &*groups), (2, 6, &[3, 9][..]));
        assert_eq!((found.identity.fsuid, found.identity.fsgid), (4, 8));
        assert_eq!(found.identity.capabilities, 0x1ff_ffff_ffff);
    }

    #[test]
    fn half_a_status_is_none() {
        assert_eq!(parse(b"Tgid:\t17\nUid:\t1\t2\t3\n"), None);
        assert_eq!(parse(b"\xff"), None);
    }
}
