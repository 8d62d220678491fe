//! Finds the account at the other end of a connection, from the kernel's data about the sockets.
//!
//! For a Unix socket, this is the account of the process that called `listen`. For TCP, it is the account of the
//! process that accepted the connection or, before that, of the process that listens. looptax queries the listener
//! first, because the listener exists as long as the connection waits to be accepted. In the reverse order, a process
//! could accept the connection between the two queries, and another process could then listen at its address.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use looptax_model::dsn::Protocol;
use rustix::net::{AddressFamily, getpeername, getsockname, sockopt};

use super::process;
use super::rule::{FarEnd, Process};
use super::sock_diag::{End, end_of};
use crate::path::Link;

/// The far end's account, and the means to find its process.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) who: FarEnd,
    by: By,
}

#[derive(Debug)]
enum By {
    Nothing,
    /// The process that listens on a Unix socket, if its pid is visible in our namespace.
    Pid(Option<u32>),
    Sockets {
        uid: u32,
        inodes: Vec<u64>,
    },
    /// The process that listens belongs to root, and runs its workers under the account of the far end.
    Root,
}

impl Found {
    fn without_process(who: FarEnd) -> Self {
        Self { who, by: By::Nothing }
    }

    pub(super) fn process(&self, protocol: Protocol) -> Process {
        match &self.by {
            By::Nothing => Process::Unseen,
            By::Root => Process::Server,
            By::Pid(pid) => process::of_pid(*pid, protocol),
            By::Sockets { uid, inodes } => process::of_sockets(inodes, *uid, protocol),
        }
    }
}

/// Finds the far end. The calling thread must be in the network namespace in which the connection was opened.
pub(super) fn of(link: &Link) -> Found {
    let socket = link.as_fd();
    match getsockname(socket).map(|name| name.address_family()) {
        Ok(AddressFamily::UNIX) => of_unix(socket),
        Ok(AddressFamily::INET | AddressFamily::INET6) => of_tcp(socket),
        _ => Found::without_process(FarEnd::Untold),
    }
}

/// # Source
/// unix(7), `SO_PEERCRED`: the credentials of the process that called `listen`; the pid is 0 if it is not in our PID
/// namespace.
fn of_unix(socket: BorrowedFd<'_>) -> Found {
    let Ok(told) = sockopt::socket_peercred(socket) else {
        return Found::without_process(FarEnd::Untold);
    };
    let pid = u32::try_from(told.pid.as_raw_pid()).ok();
    Found { who: FarEnd::Account(told.uid.as_raw()), by: By::Pid(pid.filter(|it| *it > 0)) }
}

fn of_tcp(socket: BorrowedFd<'_>) -> Found {
    let addresses = || {
        let near = SocketAddr::try_from(getsockname(socket).ok()?).ok()?;
        let far = SocketAddr::try_from(getpeername(socket).ok()??).ok()?;
        Some((near, far))
    };
    let Some((near, far)) = addresses() else {
        return Found::without_process(FarEnd::Untold);
    };
    // The order matters: see the head of this file.
    let (Ok(listener), Ok(accepted)) = (end_of(far, None), end_of(far, Some(near))) else {
        return Found::without_process(FarEnd::Untold);
    };
    match accepted {
        Some(end) if end.is_held() => of_ends(&end, listener.as_ref()),
        Some(_) => match &listener {
            Some(listener) => of_ends(listener, None),
            None => Found::without_process(FarEnd::Untold),
        },
        None if is_own(far) => Found::without_process(FarEnd::Routed),
        None => Found::without_process(FarEnd::Elsewhere),
    }
}

fn of_ends(end: &End, listener: Option<&End>) -> Found {
    let by = match listener {
        Some(listener) if listener.uid == 0 => By::Root,
        Some(listener) if listener.uid == end.uid => By::Sockets {
            uid: end.uid,
            // The listener's socket is the same for all connections, so `process` recognises it at the next login.
            inodes: vec![listener.inode],
        },
        _ => By::Sockets { uid: end.uid, inodes: vec![end.inode] },
    };
    Found { who: FarEnd::Account(end.uid), by }
}

/// Returns whether the address belongs to this machine: only then can a socket be bound to it.
fn is_own(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::path::{Endpoint, Limits};

    #[test]
    fn the_other_end_is_ours_whether_it_was_accepted_or_not() {
        let own = FarEnd::Account(rustix::process::geteuid().as_raw());
        for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let mut to = listener.local_addr().unwrap();
            if to.ip().is_unspecified() {
                to.set_ip("127.0.0.1".parse().unwrap());
            }
            let open = || Link::open(&Endpoint::Tcp(to), Limits::default()).unwrap();
            let waiting = open();
            assert_eq!(of(&waiting).who, own, "{address}");
            let _accepted = listener.accept().unwrap();
            assert_eq!(of(&waiting).who, own, "{address}");
        }
    }

    #[test]
    fn an_ipv4_connection_to_a_listener_of_both_families_is_found() {
        let Ok(listener) = TcpListener::bind("[::]:0") else {
            return;
        };
        let to = SocketAddr::from(([127, 0, 0, 1], listener.local_addr().unwrap().port()));
        let own = FarEnd::Account(rustix::process::geteuid().as_raw());
        // If each listener of the machine serves only one address family, no process listens at this address.
        if let Ok(link) = Link::open(&Endpoint::Tcp(to), Limits::default()) {
            assert_eq!(of(&link).who, own);
            let _accepted = listener.accept().unwrap();
            assert_eq!(of(&link).who, own);
        }
    }
}
