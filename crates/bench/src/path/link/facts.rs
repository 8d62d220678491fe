//! The time limits of a connection, and what the kernel reports about it.

use std::net::SocketAddr;
use std::time::Duration;

use crate::path::{Family, TlsFacts};

/// How long calls on one connection may wait in the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub connect: Duration,
    pub io: Duration,
}

impl Default for Limits {
    /// 5 s to connect, 10 s for an answer: far longer than any healthy server takes, but short enough to wait for.
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), io: Duration::from_secs(10) }
    }
}

/// The kernel's facts about a connection.
#[derive(Debug, Clone)]
pub struct LinkFacts {
    /// From `getsockname`.
    pub family: Family,
    /// The address of our own end, if it has an IP address.
    pub local: Option<SocketAddr>,
    /// Process that listens at the other end (`SO_PEERCRED`; Unix sockets only).
    pub peer_pid: Option<u32>,
    /// Whether TCP sends small packets immediately (TCP only).
    pub nodelay: Option<bool>,
    /// `SO_SNDBUF` in bytes.
    pub send_buffer_bytes: usize,
    /// `SO_RCVBUF` in bytes.
    pub receive_buffer_bytes: usize,
    /// The agreed TLS parameters, if the connection has TLS.
    pub tls: Option<TlsFacts>,
}
