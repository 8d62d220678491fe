//! Where the echo server listens: the same backlog on both transports.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::ServerError;

/// Waiting connections; the kernel lowers it to `net.core.somaxconn` (4096 since Linux 5.4).
const BACKLOG: i32 = 4096;

pub(super) fn listen_unix(path: &Path) -> Result<OwnedFd, ServerError> {
    let listen = || -> rustix::io::Result<OwnedFd> {
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(socket)
    };
    listen().map_err(|source| ServerError::Echo {
        action: "listen on",
        object: path.display().to_string(),
        source: source.into(),
    })
}

pub(super) fn listen_tcp(address: SocketAddr) -> Result<OwnedFd, ServerError> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let listen = || -> rustix::io::Result<OwnedFd> {
        let socket =
            rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(socket)
    };
    listen().map_err(|source| ServerError::Echo {
        action: "listen on",
        object: address.to_string(),
        source: source.into(),
    })
}
