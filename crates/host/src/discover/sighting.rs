//! A connection to a server, as it was seen once.

use std::net::SocketAddr;

/// A connection within this machine to a server, as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    /// The addresses of client and server; `None` for a Unix socket.
    pub tcp: Option<(SocketAddr, SocketAddr)>,
    /// The inode of the client's socket; 0 if the socket is closed.
    pub inode: u64,
    pub uid: Option<u32>,
}
