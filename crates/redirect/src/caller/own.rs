//! Our own identity, and whether a caller has the same root and namespaces.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use looptax_host::{kernel, read};

use super::status::{Status, status};
use super::{Changes, Person};
use crate::sys::identity::Identity;
use crate::sys::root::{Root, is_same_file};
use crate::sys::{own_pid, process, socket};
use crate::{FallbackReason, Features, SocketName};

#[derive(Debug, Clone)]
pub(crate) struct Own {
    pub(crate) identity: Identity,
    network_cookie: Option<u64>,
    network: Vec<u8>,
    users: Vec<u8>,
    label: Option<Vec<u8>>,
    root: Root,
    n_filters: Option<u32>,
}

/// How a thread's root and namespaces compare with ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct World {
    has_our_users: bool,
    /// Whether the thread has our root and our mounts.
    has_our_root: bool,
}

impl World {
    /// Returns whether the name `to` leads the thread to the same socket as us. Does not check whether the thread may
    /// connect to the socket.
    pub(crate) fn shares_socket(self, tid: i32, to: &SocketName) -> bool {
        match to {
            // If we see no file at this path, there is nothing to compare; `connect` then fails, and its error is the
            // reason.
            SocketName::Path(path) if !self.has_our_root && read::exists(path) => {
                is_same_file(tid, path).unwrap_or_default()
            }
            SocketName::Path(_) | SocketName::Abstract(_) => true,
        }
    }
}

impl Own {
    pub(crate) fn look() -> io::Result<Self> {
        let pid = own_pid();
        let Status { identity, n_filters, .. } = status(pid)?;
        let probe = socket::stream(libc::AF_INET).ok();
        let cookie = |it: OwnedFd| socket::cookie(it.as_fd(), libc::SO_NETNS_COOKIE).ok();
        Ok(Self {
            identity,
            n_filters,
            network_cookie: probe.and_then(cookie),
            network: process::link("/proc/self/ns/net").unwrap_or_default(),
            users: process::link("/proc/self/ns/user").unwrap_or_default(),
            label: label(pid),
            root: Root::own()?,
        })
    }

    /// Returns whether a socket of the caller belongs to our network namespace, and so to our loopback.
    pub(crate) fn shares_network(&self, tid: i32, its: BorrowedFd<'_>, features: Features) -> bool {
        if features.has_netns_cookie {
            let cookie = socket::cookie(its, libc::SO_NETNS_COOKIE).ok();
            return cookie.is_some() && cookie == self.network_cookie;
        }
        process::link(&format!("/proc/{tid}/ns/net")).is_ok_and(|it| it == self.network)
    }

    /// Returns whether a thread may have been confined since it started. If so, the kernel must check the thread's own
    /// `connect`.
    pub(crate) fn is_confined(&self, tid: i32, changes: &Changes) -> bool {
        if changes.has_fenced() {
            return true;
        }
        // The thread has one filter more than this process: the filter of this run.
        let is_ours = |n: u32| self.n_filters.is_some_and(|own| n == own + 1);
        changes.has_filtered() && !status(tid).is_ok_and(|status| status.n_filters.is_some_and(is_ours))
    }

    /// Compares a thread's root and user namespace with ours.
    pub(super) fn compare(&self, tid: i32) -> World {
        let users = process::link(&format!("/proc/{tid}/ns/user"));
        World {
            has_our_users: users.is_ok_and(|it| it == self.users),
            has_our_root: self.root.is_that_of(tid).unwrap_or_default(),
        }
    }

    /// Returns the reason why we cannot act for the caller, if there is one. Ids have the same meaning only within one
    /// user namespace. Without capabilities we can act only for our own account. A security label cannot be assumed.
    pub(crate) fn objection(&self, tid: i32, caller: &Person) -> Option<FallbackReason> {
        if self.identity.capabilities != 0 {
            if !caller.world.has_our_users {
                return Some(FallbackReason::OtherUsers);
            }
        } else if !is_same_account(&self.identity, &caller.identity) {
            return Some(FallbackReason::Credentials);
        }
        if self.label.is_some() && label(tid) != self.label {
            return Some(FallbackReason::Label);
        }
        None
    }
}

fn is_same_account(one: &Identity, other: &Identity) -> bool {
    let plain = |it: &Identity| Identity { capabilities: 0, ..it.clone() };
    plain(one) == plain(other)
}

/// Returns the thread's label from a security module; `None` if no module sets labels.
fn label(tid: i32) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut file = kernel::open(format!("/proc/{tid}/attr/current")).ok()?;
    file.read_to_end(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_ourselves() {
        let own = Own::look().unwrap();
        let Status { pid, identity, .. } = status(own_pid()).unwrap();
        assert_eq!(pid, own_pid());
        let world = own.compare(pid);
        assert!(world.has_our_users && world.has_our_root);
        let person = Person { pid, identity, world };
        assert_eq!(own.objection(pid, &person), None);
    }
}
