//! The destinations of another process's connections, observed from outside while it runs.
//!
//! Each socket is duplicated for a moment (`pidfd_getfd`) and its peer is read, so the answer comes from the kernel and
//! is right in every network namespace. Used for whole commands, because their connections are not made by looptax. A
//! socket that cannot be inspected is left out.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use looptax_host::kernel;
use looptax_host::processes::descendant_pids;
use rustix::net::{SocketAddrAny, SocketAddrUnix, getpeername, getsockname};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// Maximum number of descendants of a process that are inspected, because a check must stay short.
const MOST_PROCESSES: usize = 64;

/// The descriptors that are tried if the kernel does not list a process's descriptors.
const MOST_UNLISTED: u32 = 1024;

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// A Unix socket with a path.
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// Returns the peers of all connections of process `pid` and of the processes that it has started.
///
/// Sockets without a connection, and Unix sockets whose peer has no path, are left out.
///
/// # Cost
/// Four system calls per open socket and one per other open file.
pub fn peers_of(pid: u32) -> Vec<Peer> {
    let family = family_of(pid).into_iter();
    family.flat_map(|pid| of_process(pid, peer_of)).collect()
}

/// The TCP connections of a proxy process, which copies data between pairs of connections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Relayed {
    /// The far ends of the connections that the process accepted on its own port.
    pub accepted: Vec<SocketAddr>,
    /// The process's own ends of the connections that it opened.
    pub opened: Vec<SocketAddr>,
}

/// Returns the connections that process `pid`, which listens on `port`, relays now.
pub fn relayed_by(pid: u32, port: u16) -> Relayed {
    let mut relayed = Relayed::default();
    for [own, far] in of_process(pid, ends_of) {
        if own.port() == port {
            relayed.accepted.push(far);
        } else {
            relayed.opened.push(own);
        }
    }
    relayed
}

pub(crate) fn family_of(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    family.extend(descendant_pids(pid, MOST_PROCESSES));
    family
}

/// Returns the entries of a folder whose names are numbers.
fn entries(folder: &str) -> Vec<u32> {
    let names = kernel::names(folder).into_iter().flatten();
    names.filter_map(|it| it.to_str()?.parse().ok()).collect()
}

/// Returns the result of `look` for each socket of a process.
fn of_process<T>(pid: u32, look: impl Fn(&OwnedFd) -> Option<T>) -> Vec<T> {
    let Some(handle) = Pid::from_raw(pid.cast_signed()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
    else {
        return Vec::new();
    };
    let folder = format!("/proc/{pid}/fd");
    let is_file = |number: &u32| {
        kernel::link(format!("{folder}/{number}"))
            .is_ok_and(|target| !target.as_os_str().as_bytes().starts_with(b"socket:"))
    };
    let mut numbers = entries(&folder);
    if numbers.is_empty() {
        // The kernel gives the folder of a process that protects itself to root, even if looptax may inspect the process
        // in its user namespace.
        numbers = (0..MOST_UNLISTED).collect();
    }
    numbers.retain(|it| !is_file(it));
    numbers.into_iter().filter_map(|number| look(&borrowed(&handle, number)?)).collect()
}

fn borrowed(process: &OwnedFd, number: u32) -> Option<OwnedFd> {
    pidfd_getfd(process.as_fd(), number.cast_signed(), PidfdGetfdFlags::empty()).ok()
}

/// Returns both ends of a TCP connection, the process's own end first.
fn ends_of(socket: &OwnedFd) -> Option<[SocketAddr; 2]> {
    let peer = getpeername(socket).ok()??;
    let plain = |name: SocketAddrAny| {
        let address = SocketAddr::try_from(name).ok()?;
        // A listener for both families reports an IPv4 address in its IPv6 form.
        Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
    };
    Some([plain(getsockname(socket).ok()?)?, plain(peer)?])
}

fn peer_of(socket: &OwnedFd) -> Option<Peer> {
    let peer: SocketAddrAny = getpeername(socket).ok()??;
    if let Ok(address) = SocketAddr::try_from(peer.clone()) {
        return Some(Peer::Tcp(address));
    }
    let peer = SocketAddrUnix::try_from(peer).ok()?;
    let path = OsStr::from_bytes(peer.path_bytes()?).into();
    Some(Peer::Unix(path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn our_own_connections_are_seen_with_their_peers() {
        let folder = std::env::temp_dir().join(format!("looptax-sight-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("s.sock");
        let unix = UnixListener::bind(&path).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap();
        let _open = (UnixStream::connect(&path).unwrap(), TcpStream::connect(address).unwrap());
        let found = peers_of(std::process::id());
        fs::remove_dir_all(&folder).unwrap();
        drop(unix);
        assert!(found.contains(&Peer::Tcp(address)), "{found:?}");
        assert!(found.contains(&Peer::Unix(path)), "{found:?}");
    }

    #[test]
    fn what_a_process_relays_is_told_apart_by_its_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).unwrap();
        let _accepted = listener.accept().unwrap();
        let relayed = relayed_by(std::process::id(), address.port());
        assert_eq!(relayed.accepted, [client.local_addr().unwrap()]);
        assert!(relayed.opened.contains(&client.local_addr().unwrap()));
    }

    #[test]
    fn a_process_that_is_not_there_has_none() {
        assert_eq!(peers_of(u32::MAX >> 1), []);
    }
}
