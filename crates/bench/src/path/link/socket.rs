//! The socket itself, opened by the same system calls on each transport, and the facts that the kernel reports about
//! it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::facts::{Limits, LinkFacts};
use super::patience::{part_of, patiently};
use crate::path::{Endpoint, Family, PathError, silence};

/// Connects by the same system calls on every transport.
pub(super) fn connect(endpoint: &Endpoint, limits: Limits) -> Result<OwnedFd, PathError> {
    let connected = match endpoint {
        Endpoint::Unix(path) => connect_unix(SocketAddrUnix::new(path), path, limits),
        Endpoint::Abstract(name) => {
            let shown = endpoint.to_string();
            connect_unix(SocketAddrUnix::new_abstract_name(name), Path::new(&shown), limits)
        }
        Endpoint::Tcp(address) => {
            let failed = |source| PathError::ConnectTcp { address: *address, source };
            connect_tcp(*address, limits.connect).map_err(failed)
        }
    };
    if let Err(PathError::ConnectUnix { source, .. } | PathError::ConnectTcp { source, .. }) = &connected
        && matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    {
        silence::note(endpoint, limits.connect);
    }
    connected
}

/// Makes a blocking connect: if the backlog is full, the call waits up to `SO_SNDTIMEO`, as it does over TCP.
fn connect_unix(address: Result<SocketAddrUnix, Errno>, shown: &Path, limits: Limits) -> Result<OwnedFd, PathError> {
    let failed = |source: io::Error| PathError::ConnectUnix { path: shown.to_owned(), source };
    let begun = || {
        let fd = stream_socket(AddressFamily::UNIX)?;
        let part = Some(part_of(limits.connect));
        sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, part)?;
        Ok::<_, Errno>((fd, address?))
    };
    let (fd, address) = begun().map_err(|errno| failed(errno.into()))?;
    connect_whole(&fd, &address, limits.connect).map_err(failed)?;
    Ok(fd)
}

/// Connects over TCP, with `TCP_NODELAY`.
pub(crate) fn connect_tcp(address: SocketAddr, limit: Duration) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let fd = stream_socket(family)?;
    sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, Some(part_of(limit)))?;
    connect_whole(&fd, &address, limit).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    })?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    Ok(fd)
}

/// Repeats connect until the connection is complete. A signal, or the end of a part of the wait, does not end the
/// attempt, because another call of connect continues it.
///
/// # Source
/// connect(2) and socket(7), `SO_SNDTIMEO`. If the time of a blocking connect is over, the call fails with
/// `EINPROGRESS`, and the next call fails with `EALREADY`. On a Unix socket the call fails with `EAGAIN`.
fn connect_whole(fd: &OwnedFd, address: &impl SocketAddrArg, limit: Duration) -> io::Result<()> {
    let mut is_begun = false;
    let connect = || match rustix::net::connect(fd, address) {
        Err(Errno::ISCONN) if is_begun => Ok(()),
        Err(errno) => {
            is_begun = true;
            Err(match errno {
                Errno::INPROGRESS | Errno::ALREADY => Errno::AGAIN,
                other => other,
            })
        }
        Ok(()) => Ok(()),
    };
    patiently(limit, connect, || Ok(()))
}

fn stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

pub(super) fn facts(fd: BorrowedFd<'_>) -> Result<LinkFacts, Errno> {
    let brief = brief_facts(fd)?;
    let is_unix = brief.family == Family::Unix;
    Ok(LinkFacts {
        peer_pid: is_unix.then(|| peer_pid(fd)).flatten(),
        nodelay: if is_unix { None } else { Some(sockopt::tcp_nodelay(fd)?) },
        send_buffer_bytes: sockopt::socket_send_buffer_size(fd)?,
        receive_buffer_bytes: sockopt::socket_recv_buffer_size(fd)?,
        ..brief
    })
}

/// Returns the facts that one `getsockname` returns.
pub(super) fn brief_facts(fd: BorrowedFd<'_>) -> Result<LinkFacts, Errno> {
    let name = rustix::net::getsockname(fd)?;
    let family = match name.address_family() {
        AddressFamily::UNIX => Family::Unix,
        AddressFamily::INET => Family::Inet,
        AddressFamily::INET6 => Family::Inet6,
        other => Family::Other(other.as_raw()),
    };
    Ok(LinkFacts {
        family,
        local: local_address(name),
        peer_pid: None,
        nodelay: None,
        send_buffer_bytes: 0,
        receive_buffer_bytes: 0,
        tls: None,
    })
}

/// Returns no facts, and makes no system call.
#[expect(clippy::unnecessary_wraps, reason = "the functions that this function replaces may fail")]
pub(super) fn no_facts(_: BorrowedFd<'_>) -> Result<LinkFacts, Errno> {
    Ok(LinkFacts {
        family: Family::Other(0),
        local: None,
        peer_pid: None,
        nodelay: None,
        send_buffer_bytes: 0,
        receive_buffer_bytes: 0,
        tls: None,
    })
}

fn local_address(name: SocketAddrAny) -> Option<SocketAddr> {
    SocketAddr::try_from(name).ok()
}

/// Returns the peer's pid. The kernel reports 0 if the peer is in a pid namespace that we cannot see; the pid is then
/// unknown.
fn peer_pid(fd: BorrowedFd<'_>) -> Option<u32> {
    let credentials = sockopt::socket_peercred(fd).ok()?;
    u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
}
