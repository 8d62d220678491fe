//! One connection to a server at one moment.

use std::net::SocketAddr;

/// A connection of this machine to a server, as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    /// The addresses of client and server; `None` for a Unix socket.
    pub tcp: Option<(SocketAddr, SocketAddr)>,
    /// The number of the client's socket; 0 if that socket is closed.
    pub inode: u64,
    pub uid: Option<u32>,
}
