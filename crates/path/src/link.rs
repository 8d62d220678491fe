//! One open connection: a socket with time limits, and what the kernel says about it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrAny, sockopt};

use crate::{Endpoint, PathError};

/// How long the kernel may keep us waiting on one connection.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For connecting.
    pub connect: Duration,
    /// For one receive or send.
    pub io: Duration,
}

impl Default for Limits {
    /// 5 s to connect, 10 s for an answer: far over any healthy server's, short enough to wait for.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            io: Duration::from_secs(10),
        }
    }
}

/// The address family that `getsockname` gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `AF_UNIX`.
    Unix,
    /// `AF_INET`.
    Inet,
    /// `AF_INET6`.
    Inet6,
    /// Any other, by number.
    Other(u16),
}

/// What the kernel says about a connection.
#[derive(Debug, Clone)]
pub struct LinkFacts {
    /// By `getsockname`.
    pub family: Family,
    /// Our own end, where it has an IP address.
    pub local: Option<SocketAddr>,
    /// Process that listens at the other end (`SO_PEERCRED`; Unix sockets only).
    pub peer_pid: Option<u32>,
    /// Whether small packets are sent at once (TCP only).
    pub nodelay: Option<bool>,
    /// `SO_SNDBUF` in bytes.
    pub send_buffer_bytes: usize,
    /// `SO_RCVBUF` in bytes.
    pub receive_buffer_bytes: usize,
}

/// An open connection.
#[derive(Debug)]
pub struct Link {
    fd: OwnedFd,
    facts: LinkFacts,
    endpoint: Endpoint,
}

impl Link {
    /// Connects and asks the kernel what it got.
    ///
    /// # Errors
    /// [`PathError::ConnectUnix`] or [`PathError::ConnectTcp`]; [`PathError::Option`] when the
    /// kernel refuses an option.
    pub fn open(endpoint: &Endpoint, limits: Limits) -> Result<Self, PathError> {
        let fd = match endpoint {
            Endpoint::Unix(path) => connect_unix(path, limits)?,
            Endpoint::Tcp(address) => connect_tcp(*address, limits)?,
        };
        let option = |action| {
            move |source: rustix::io::Errno| PathError::Option {
                action,
                source: source.into(),
            }
        };
        for timeout in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
            sockopt::set_socket_timeout(&fd, timeout, Some(limits.io))
                .map_err(option("set a time limit"))?;
        }
        let facts = facts(fd.as_fd()).map_err(option("read the properties"))?;
        Ok(Self {
            fd,
            facts,
            endpoint: endpoint.clone(),
        })
    }

    /// What the kernel said when the connection was opened.
    pub fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    /// Where it leads.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Gathers small packets again, as TCP does unless told otherwise (Nagle's algorithm). Does nothing
    /// on a Unix socket.
    ///
    /// # Errors
    /// [`PathError::Option`] when the kernel refuses.
    pub fn leave_nodelay(&mut self) -> Result<(), PathError> {
        if self.facts.nodelay.is_some() {
            sockopt::set_tcp_nodelay(&self.fd, false).map_err(|source| PathError::Option {
                action: "switch TCP_NODELAY off",
                source: source.into(),
            })?;
            self.facts.nodelay = Some(false);
        }
        Ok(())
    }

    /// The socket alone, for the load engine: without time limits, which would set a kernel timer
    /// for each wait.
    ///
    /// # Errors
    /// [`PathError::Option`] when the kernel refuses to lift them.
    pub fn into_unlimited_fd(self) -> Result<OwnedFd, PathError> {
        for timeout in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
            sockopt::set_socket_timeout(&self.fd, timeout, None).map_err(|source| {
                PathError::Option {
                    action: "lift a time limit",
                    source: source.into(),
                }
            })?;
        }
        Ok(self.fd)
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (received, _) = rustix::net::recv(&self.fd, buffer, RecvFlags::empty())?;
        Ok(received)
    }
}

impl Write for Link {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(&self.fd, buffer, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A blocking connect: a full backlog makes it wait, as TCP would, up to `SO_SNDTIMEO`.
fn connect_unix(path: &Path, limits: Limits) -> Result<OwnedFd, PathError> {
    let failed = |source: io::Error| PathError::ConnectUnix {
        path: path.to_owned(),
        source,
    };
    let fd = rustix::net::socket_with(
        AddressFamily::UNIX,
        rustix::net::SocketType::STREAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|errno| failed(errno.into()))?;
    sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, Some(limits.connect))
        .map_err(|errno| failed(errno.into()))?;
    let address = rustix::net::SocketAddrUnix::new(path).map_err(|errno| failed(errno.into()))?;
    rustix::net::connect(&fd, &address).map_err(|errno| failed(errno.into()))?;
    Ok(UnixStream::from(fd).into())
}

fn connect_tcp(address: SocketAddr, limits: Limits) -> Result<OwnedFd, PathError> {
    let failed = |source| PathError::ConnectTcp { address, source };
    let stream = TcpStream::connect_timeout(&address, limits.connect).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream.into())
}

fn facts(fd: BorrowedFd<'_>) -> Result<LinkFacts, rustix::io::Errno> {
    let name = rustix::net::getsockname(fd)?;
    let family = match name.address_family() {
        AddressFamily::UNIX => Family::Unix,
        AddressFamily::INET => Family::Inet,
        AddressFamily::INET6 => Family::Inet6,
        other => Family::Other(other.as_raw()),
    };
    let is_unix = family == Family::Unix;
    Ok(LinkFacts {
        family,
        local: local_address(name),
        peer_pid: is_unix.then(|| peer_pid(fd)).flatten(),
        nodelay: if is_unix {
            None
        } else {
            Some(sockopt::tcp_nodelay(fd)?)
        },
        send_buffer_bytes: sockopt::socket_send_buffer_size(fd)?,
        receive_buffer_bytes: sockopt::socket_recv_buffer_size(fd)?,
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
