//! Who made a call: process, user, groups, rights; and whether it lives in our world.
//!
//! Read anew for each connection, since a process may drop its rights at any time.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use crate::sys::identity::Identity;
use crate::sys::root::Root;
use crate::sys::{own_pid, process, socket};
use crate::{Features, SocketName, Stay};

/// A thread that waits for an answer.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) tid: i32,
    pidfd: Rc<OwnedFd>,
}

thread_local! {
    /// Whose call this thread answered last: programs make several in a row. A descriptor of a thread that
    /// has ended never means another.
    static LAST: RefCell<Option<(i32, Rc<OwnedFd>)>> = const { RefCell::new(None) };
}

/// What `/proc` says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    /// Its process.
    pub(crate) pid: i32,
    pub(crate) identity: Identity,
}

/// Who we are, for comparison.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    pub(crate) identity: Identity,
    network_cookie: Option<u64>,
    network: Vec<u8>,
    users: Vec<u8>,
    label: Option<Vec<u8>>,
    root: Root,
}

impl Caller {
    /// # Errors
    /// When the thread is gone or may not be looked into.
    pub(crate) fn open(tid: i32, features: Features) -> io::Result<Self> {
        let last = LAST.with_borrow(|last| {
            let (known, pidfd) = last.as_ref()?;
            let is_of_thread = features.has_thread_pidfd && *known == tid;
            (is_of_thread && process::is_alive(pidfd.as_ref().as_fd())).then(|| Rc::clone(pidfd))
        });
        if let Some(pidfd) = last {
            return Ok(Self { tid, pidfd });
        }
        let pidfd = if features.has_thread_pidfd {
            process::pidfd_open(tid, libc::PIDFD_THREAD)
        } else {
            // A thread that is not its process's first has none of its own here.
            process::pidfd_open(tid, 0).or_else(|_| process::pidfd_open(status(tid)?.pid, 0))
        };
        let pidfd = Rc::new(pidfd?);
        LAST.set(Some((tid, Rc::clone(&pidfd))));
        Ok(Self { tid, pidfd })
    }

    /// A copy of one of its descriptors.
    pub(crate) fn file(&self, fd: i32) -> io::Result<OwnedFd> {
        process::pidfd_getfd(self.pidfd(), fd)
    }

    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_ref().as_fd()
    }
}

impl Own {
    /// Looks at this process.
    pub(crate) fn look() -> io::Result<Self> {
        let pid = own_pid();
        let probe = socket::stream(libc::AF_INET).ok();
        let cookie = |it: OwnedFd| socket::cookie(it.as_fd(), libc::SO_NETNS_COOKIE).ok();
        Ok(Self {
            identity: status(pid)?.identity,
            network_cookie: probe.and_then(cookie),
            network: process::link("/proc/self/ns/net").unwrap_or_default(),
            users: process::link("/proc/self/ns/user").unwrap_or_default(),
            label: label(pid),
            root: Root::own()?,
        })
    }

    /// Whether a socket of the caller belongs to our loopback.
    pub(crate) fn shares_network(&self, tid: i32, its: BorrowedFd<'_>, features: Features) -> bool {
        if features.has_netns_cookie {
            let cookie = socket::cookie(its, libc::SO_NETNS_COOKIE).ok();
            return cookie.is_some() && cookie == self.network_cookie;
        }
        process::link(&format!("/proc/{tid}/ns/net")).is_ok_and(|it| it == self.network)
    }

    /// Whether the caller would reach the same socket by that name, if it could ask for it.
    pub(crate) fn shares_socket(&self, tid: i32, to: &SocketName) -> bool {
        match to {
            // There is nothing to share where we see nothing: connecting says why.
            SocketName::Path(path) if path.exists() => {
                self.root.is_same_file(tid, path).unwrap_or_default()
            }
            SocketName::Path(_) | SocketName::Abstract(_) => true,
        }
    }

    /// What keeps us from acting for the caller, if anything does: ids mean the same only in one user
    /// namespace, and a label cannot be taken on.
    pub(crate) fn objection(&self, tid: i32, caller: &Identity) -> Option<Stay> {
        if self.identity.capabilities != 0 {
            let users = process::link(&format!("/proc/{tid}/ns/user"));
            if users.ok().as_ref() != Some(&self.users) {
                return Some(Stay::OtherUsers);
            }
        } else if !is_same_account(&self.identity, caller) {
            return Some(Stay::Credentials);
        }
        if self.label.is_some() && label(tid) != self.label {
            return Some(Stay::Label);
        }
        None
    }
}

fn is_same_account(one: &Identity, other: &Identity) -> bool {
    let plain = |it: &Identity| Identity {
        capabilities: 0,
        ..it.clone()
    };
    plain(one) == plain(other)
}

/// The label of a security module, where there is one that labels.
fn label(tid: i32) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut file = File::open(format!("/proc/{tid}/attr/current")).ok()?;
    file.read_to_end(&mut text).ok()?;
    Some(text)
}

/// Large enough for a process in a few hundred groups.
const STATUS_BYTES: usize = 4096;

/// What `/proc/TID/status` says.
pub(crate) fn status(tid: i32) -> io::Result<Status> {
    let mut file = File::open(format!("/proc/{tid}/status"))?;
    let mut start = [0; STATUS_BYTES];
    let n_bytes = file.read(&mut start)?;
    let mut rest = Vec::new();
    if n_bytes == STATUS_BYTES {
        file.read_to_end(&mut rest)?;
        rest.splice(..0, start);
    }
    let text = if rest.is_empty() {
        &start[..n_bytes]
    } else {
        &rest
    };
    parse(text).ok_or_else(|| io::Error::from_raw_os_error(libc::EIO))
}

/// # Source
/// `proc_pid_status(5)`: `Uid` and `Gid` are real, effective, saved and file-system ids.
fn parse(text: &[u8]) -> Option<Status> {
    // A thread may have given itself a name that is not text.
    let text = String::from_utf8_lossy(text);
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    };
    let ids = |name: &str| -> Option<Vec<u32>> {
        let words = field(name)?.split_ascii_whitespace();
        words.map(|it| it.parse().ok()).collect()
    };
    let (uids, gids) = (ids("Uid")?, ids("Gid")?);
    let mut groups = ids("Groups")?;
    groups.sort_unstable();
    Some(Status {
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
        let Identity {
            euid, egid, groups, ..
        } = found.identity.clone();
        assert_eq!((euid, egid, &*groups), (2, 6, &[3, 9][..]));
        assert_eq!((found.identity.fsuid, found.identity.fsgid), (4, 8));
        assert_eq!(found.identity.capabilities, 0x1ff_ffff_ffff);
    }

    #[test]
    fn half_a_status_is_none() {
        assert_eq!(parse(b"Tgid:\t17\nUid:\t1\t2\t3\n"), None);
        assert_eq!(parse(b"\xff"), None);
    }

    #[test]
    fn we_are_ourselves() {
        let own = Own::look().unwrap();
        let status = status(own_pid()).unwrap();
        assert_eq!(status.pid, own_pid());
        assert_eq!(own.objection(status.pid, &status.identity), None);
    }
}
