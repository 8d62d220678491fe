//! The socket itself: opened by the same system calls on either transport, and asked what it is.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::facts::{Limits, LinkFacts};
use crate::{Endpoint, Family, PathError, stopping};

/// Connects by the same system calls on every transport.
pub(super) fn connect(endpoint: &Endpoint, limits: Limits) -> Result<OwnedFd, PathError> {
    match endpoint {
        Endpoint::Unix(path) => connect_unix(SocketAddrUnix::new(path), path, limits),
        Endpoint::Abstract(name) => {
            let shown = endpoint.to_string();
            connect_unix(
                SocketAddrUnix::new_abstract_name(name),
                Path::new(&shown),
                limits,
            )
        }
        Endpoint::Tcp(address) => connect_tcp(*address, limits),
    }
}

/// A blocking connect: a full backlog makes it wait, as TCP would, up to `SO_SNDTIMEO`.
fn connect_unix(
    address: Result<SocketAddrUnix, Errno>,
    shown: &Path,
    limits: Limits,
) -> Result<OwnedFd, PathError> {
    let failed = |source: Errno| PathError::ConnectUnix {
        path: shown.to_owned(),
        source: source.into(),
    };
    let fd = stream_socket(AddressFamily::UNIX).map_err(failed)?;
    sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, Some(limits.connect))
        .map_err(failed)?;
    connect_whole(&fd, &address.map_err(failed)?).map_err(failed)?;
    Ok(fd)
}

fn connect_tcp(address: SocketAddr, limits: Limits) -> Result<OwnedFd, PathError> {
    let failed = |errno: Errno| PathError::ConnectTcp {
        address,
        source: match errno {
            // What a blocking connect gives when its time is up.
            Errno::INPROGRESS | Errno::AGAIN => io::ErrorKind::TimedOut.into(),
            other => other.into(),
        },
    };
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let fd = stream_socket(family).map_err(failed)?;
    sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, Some(limits.connect))
        .map_err(failed)?;
    connect_whole(&fd, &address).map_err(failed)?;
    sockopt::set_tcp_nodelay(&fd, true).map_err(failed)?;
    Ok(fd)
}

/// Also when a signal comes in between: with a time limit the kernel does not go on by itself, and the same call
/// again waits for what was begun.
fn connect_whole(fd: &OwnedFd, address: &impl SocketAddrArg) -> Result<(), Errno> {
    let mut is_begun = false;
    loop {
        match rustix::net::connect(fd, address) {
            Err(errno @ Errno::INTR) => {
                stopping::go_on(errno).map_err(|_| errno)?;
                is_begun = true;
            }
            Err(Errno::ISCONN) if is_begun => return Ok(()),
            other => return other,
        }
    }
}

fn stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

pub(super) fn facts(fd: BorrowedFd<'_>) -> Result<LinkFacts, Errno> {
    let brief = brief_facts(fd)?;
    let is_unix = brief.family == Family::Unix;
    Ok(LinkFacts {
        peer_pid: is_unix.then(|| peer_pid(fd)).flatten(),
        nodelay: if is_unix {
            None
        } else {
            Some(sockopt::tcp_nodelay(fd)?)
        },
        send_buffer_bytes: sockopt::socket_send_buffer_size(fd)?,
        receive_buffer_bytes: sockopt::socket_recv_buffer_size(fd)?,
        ..brief
    })
}

/// What one `getsockname` tells.
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

/// Nothing that anybody was asked for.
#[expect(
    clippy::unnecessary_wraps,
    reason = "it stands where the others do, which ask"
)]
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

/// Zero means that the peer lives in a pid namespace that we cannot see: as good as unknown.
fn peer_pid(fd: BorrowedFd<'_>) -> Option<u32> {
    let credentials = sockopt::socket_peercred(fd).ok()?;
    u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
}
