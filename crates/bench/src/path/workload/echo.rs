//! The requests to the echo server: they take hardly any time except in the transport.

use looptax_wire::echo::{Hello, Traffic};

/// Default number of bytes of a request and its reply: about what a point select sends and receives.
const PING_BYTES: u32 = 64;

/// The settings of a connection to the echo server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    pub request: EchoRequest,
    /// Whether both ends send small packets immediately over TCP; a Unix socket has no such setting.
    pub is_nodelay: bool,
}

/// One request to the echo server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EchoRequest {
    /// A message from the client, and a reply.
    Ping { request_bytes: u32, reply_bytes: u32 },
    /// A stream from the client, and eight bytes back when the last byte has arrived.
    Stream {
        /// Bytes of all writes together.
        bytes: u64,
        /// Bytes of one write; the last write may be shorter.
        write_bytes: u32,
    },
}

impl Default for Echo {
    /// 64 bytes in each direction, with `TCP_NODELAY` as database clients set it.
    fn default() -> Self {
        Self { request: EchoRequest::Ping { request_bytes: PING_BYTES, reply_bytes: PING_BYTES }, is_nodelay: true }
    }
}

impl Echo {
    /// Returns the request's name in options and records.
    pub fn name(&self) -> &'static str {
        match self.request {
            EchoRequest::Ping { .. } => "ping",
            EchoRequest::Stream { .. } => "stream",
        }
    }

    pub(crate) fn hello(&self) -> Hello {
        let traffic = match self.request {
            EchoRequest::Ping { request_bytes, reply_bytes } => Traffic::PingPong { request_bytes, reply_bytes },
            EchoRequest::Stream { bytes, .. } => Traffic::Stream { bytes },
        };
        Hello { traffic, is_nodelay: self.is_nodelay }
    }

    pub(crate) fn write_bytes(&self) -> u32 {
        match self.request {
            EchoRequest::Ping { request_bytes, .. } => request_bytes,
            EchoRequest::Stream { write_bytes, .. } => write_bytes,
        }
    }
}
