//! The addresses on which the echo server listens, with the same backlog on every transport.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::servers::ServerError;

/// Maximum number of waiting connections; the kernel lowers it to `net.core.somaxconn` (4096 since Linux 5.4).
const BACKLOG: i32 = 4096;

#[derive(Debug)]
pub(super) struct Listener {
    pub(super) socket: OwnedFd,
    pub(super) is_tcp: bool,
    pub(super) name: String,
}

impl Listener {
    pub(super) fn unix(path: &Path) -> Result<Self, ServerError> {
        let address = SocketAddrUnix::new(path);
        Self::on_socket(path.display().to_string(), address)
    }

    /// Listens on an abstract socket, whose name is visible only in this network namespace.
    pub(super) fn in_namespace(name: &str) -> Result<Self, ServerError> {
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes());
        Self::on_socket(format!("@{name}"), address)
    }

    fn on_socket(name: String, address: rustix::io::Result<SocketAddrUnix>) -> Result<Self, ServerError> {
        let listen = || -> rustix::io::Result<OwnedFd> {
            let socket = stream_socket(AddressFamily::UNIX)?;
            rustix::net::bind(&socket, &address?)?;
            rustix::net::listen(&socket, BACKLOG)?;
            Ok(socket)
        };
        Self::from_socket(listen(), name, false)
    }

    pub(super) fn tcp(address: SocketAddr) -> Result<Self, ServerError> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let listen = || -> rustix::io::Result<OwnedFd> {
            let socket = stream_socket(family)?;
            sockopt::set_socket_reuseaddr(&socket, true)?;
            rustix::net::bind(&socket, &address)?;
            rustix::net::listen(&socket, BACKLOG)?;
            Ok(socket)
        };
        Self::from_socket(listen(), address.to_string(), true)
    }

    fn from_socket(socket: rustix::io::Result<OwnedFd>, name: String, is_tcp: bool) -> Result<Self, ServerError> {
        match socket {
            Ok(socket) => Ok(Self { socket, is_tcp, name }),
            Err(source) => Err(ServerError::Echo { action: "listen on", object: name, source: source.into() }),
        }
    }
}

fn stream_socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}
