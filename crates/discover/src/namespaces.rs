//! Sockets of every network namespace that has a process in it.
//!
//! A namespace is entered by a thread of its own, which ends with the question: no other thread ever
//! leaves its namespace. That takes `CAP_SYS_ADMIN`; without it there is the caller's own alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::DiscoverError;
use crate::namespace_id::NamespaceId;
use crate::process::Process;
use crate::sock_diag::{self, Sockets};

/// What was seen of the network namespaces.
#[derive(Debug, Default)]
pub(crate) struct Networks {
    /// The sockets of each.
    pub(crate) sockets: BTreeMap<NamespaceId, Sockets>,
    /// Namespaces that could not be looked into, with the reason.
    pub(crate) closed: Vec<(NamespaceId, DiscoverError)>,
}

/// Lists the sockets of all network namespaces of `processes`; `own` is the caller's.
pub(crate) fn networks(processes: &[Process], own: Option<NamespaceId>) -> Networks {
    let mut members: BTreeMap<NamespaceId, u32> = BTreeMap::new();
    for process in processes {
        if let Some(network) = process.network {
            members.entry(network).or_insert(process.pid);
        }
    }
    let mut found = Networks::default();
    // Where not even our own namespace has a number, there is still the one we are in.
    let here = own.unwrap_or(NamespaceId(0));
    match sock_diag::sockets() {
        Ok(sockets) => {
            found.sockets.insert(here, sockets);
        }
        Err(error) => found.closed.push((here, error)),
    }
    members.remove(&here);
    for (network, pid) in members {
        match sockets_at(pid) {
            Ok(sockets) => {
                found.sockets.insert(network, sockets);
            }
            Err(error) => found.closed.push((network, error)),
        }
    }
    found
}

/// Lists the sockets of a process's network namespace, from a thread that goes there and ends.
fn sockets_at(pid: u32) -> Result<Sockets, DiscoverError> {
    let enter = move || {
        let namespace = File::open(format!("/proc/{pid}/ns/net"))?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    };
    let look = move || {
        enter().map_err(|source| DiscoverError::Namespace { pid, source })?;
        sock_diag::sockets()
    };
    let gone = || DiscoverError::Namespace {
        pid,
        source: std::io::ErrorKind::Other.into(),
    };
    thread::spawn(look).join().map_err(|_| gone())?
}
