//! Lists the sockets of every network namespace that contains a process.
//!
//! No thread of the program leaves its namespace. The process of [`entrance`] enters the other namespaces, and returns
//! a socket that lists the sockets of a namespace. This requires `CAP_SYS_ADMIN`; without it, only the caller's own
//! namespace is listed.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::{entrance, kernel};

use crate::discover::DiscoverError;
use crate::discover::namespace_id::NamespaceId;
use crate::discover::process::Process;
use crate::discover::sock_diag::{self, Sockets};

/// The kernel's limit on the length of a host name.
const MOST_HOST_NAME: usize = 64;

/// The sockets of all network namespaces.
#[derive(Debug, Default)]
pub(crate) struct Networks {
    pub(crate) sockets: BTreeMap<NamespaceId, Sockets>,
    /// Namespaces that could not be entered, each with the error.
    pub(crate) closed: Vec<(NamespaceId, DiscoverError)>,
}

/// Lists the sockets of the network namespaces of all `processes`; `own` is the caller's namespace.
pub(crate) fn networks(processes: &[Process], own: Option<NamespaceId>) -> Networks {
    let mut members: BTreeMap<NamespaceId, Vec<u32>> = BTreeMap::new();
    for process in processes {
        if let Some(network) = process.network {
            members.entry(network).or_default().push(process.pid);
        }
    }
    let mut found = Networks::default();
    // If the number of the caller's own namespace is not known, its sockets are listed under 0.
    let here = own.unwrap_or(NamespaceId(0));
    match sock_diag::own_sockets() {
        Ok(sockets) => {
            found.sockets.insert(here, sockets);
        }
        Err(error) => found.closed.push((here, error)),
    }
    members.remove(&here);
    for (network, pids) in members {
        match through_any(&pids, |pid| sockets_of(network, pid)) {
            Some(Ok(sockets)) => {
                found.sockets.insert(network, sockets);
            }
            Some(Err(error)) => found.closed.push((network, error)),
            None => {}
        }
    }
    found
}

/// Returns the result of `look` for the first of these processes that has neither ended nor moved to another namespace.
/// If there is no such process, returns the last error; `None` if the list is empty.
fn through_any<T>(pids: &[u32], look: impl Fn(u32) -> Result<T, DiscoverError>) -> Option<Result<T, DiscoverError>> {
    let mut answer = None;
    for pid in pids {
        let found = look(*pid);
        let is_gone = matches!(&found, Err(error) if error.is_of_ended_process());
        answer = Some(found);
        if !is_gone {
            break;
        }
    }
    answer
}

/// Returns `net.core.somaxconn` in the network namespace of a process, which limits the queue of every listening socket
/// in that namespace; `None` if it cannot be read.
pub fn somaxconn(process: &Process) -> Option<u32> {
    let own = crate::discover::process::process(std::process::id()).and_then(|it| it.network);
    let text = if process.network == own {
        kernel::text(kernel::SOMAXCONN).ok()?
    } else {
        let namespace = namespace_of(process.network?, process.pid).ok()?;
        let file = entrance::queue_limit(namespace.as_fd()).ok()?;
        std::io::read_to_string(File::from(file)).ok()?
    };
    text.trim().parse().ok()
}

/// Returns the host name that a process sees. Returns `None` if the process is in looptax's own UTS namespace, if it
/// sees the same name as looptax, or if the name cannot be read.
pub fn host_name(process: &Process) -> Option<String> {
    let namespace = kernel::open(process.file("ns/uts")).ok()?;
    let own = kernel::metadata("/proc/self/ns/uts").ok()?;
    if namespace.metadata().ok()?.ino() == own.ino() {
        return None;
    }
    let file = File::from(entrance::host_name(namespace.as_fd()).ok()?);
    let mut name = [0; MOST_HOST_NAME];
    let n_bytes = file.read_at(&mut name, 0).ok()?;
    let name = String::from_utf8_lossy(&name[..n_bytes]).into_owned();
    let is_own = rustix::system::uname().nodename().to_bytes() == name.as_bytes();
    (!is_own && !name.is_empty() && name != "(none)").then_some(name)
}

/// Lists the sockets of a process's network namespace.
fn sockets_of(network: NamespaceId, pid: u32) -> Result<Sockets, DiscoverError> {
    let lister = namespace_of(network, pid).and_then(|it| entrance::socket_lister(it.as_fd()));
    let lister = lister.map_err(|source| DiscoverError::Namespace { pid, source })?;
    sock_diag::sockets(&lister)
}

fn namespace_of(network: NamespaceId, pid: u32) -> std::io::Result<File> {
    let namespace = kernel::open(format!("/proc/{pid}/ns/net"))?;
    // The process may have moved to another namespace, or another process may have its pid by now.
    if namespace.metadata()?.ino() != network.0 {
        return Err(rustix::io::Errno::NOENT.into());
    }
    Ok(namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_moved_leaves_the_namespace_to_the_next_one() {
        let look = |pid: u32| match pid {
            1 => Err(DiscoverError::Namespace { pid, source: rustix::io::Errno::NOENT.into() }),
            2 => Err(DiscoverError::Namespace { pid, source: rustix::io::Errno::PERM.into() }),
            pid => Ok(pid),
        };
        let through = |pids: &[u32]| through_any(pids, look);
        assert!(matches!(through(&[1, 1, 3, 4]), Some(Ok(3))));
        assert!(matches!(through(&[1, 2, 3]), Some(Err(DiscoverError::Namespace { pid: 2, .. }))));
        assert!(matches!(through(&[1]), Some(Err(DiscoverError::Namespace { pid: 1, .. }))));
        assert!(through(&[]).is_none());
    }
}
