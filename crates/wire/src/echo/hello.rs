//! The greetings of both ends: the client's greeting contains the kind of traffic, the server's greeting contains the
//! thread that serves the connection.
//!
//! This file only encodes and decodes bytes, without I/O. Both ends check that the received values are within bounds.

use super::codec::KEY_BYTES;
use super::fault::malformed;
use crate::WireError;

pub(super) const GREET: &str = "agree on the message sizes";
pub(super) const READ_GREETING: &str = "read a greeting";
/// First bytes of both greetings: looptax echo, version 2.
pub(super) const MAGIC: [u8; 4] = *b"LTE2";
/// Lowest number of bytes of a request, a reply or a stream: the length of the key.
const LEAST_BYTES: u32 = KEY_BYTES as u32;
/// Highest number of bytes of a request or a reply.
const MOST_BYTES: u32 = 1 << 20;
/// Highest number of bytes of a stream. Even this stream takes only seconds on a slow machine, so a time limit for
/// answers can be kept.
const MOST_STREAM_BYTES: u64 = 1 << 32;
/// Bit in the first number of the client's greeting: the other two numbers are the lower and the upper half of a
/// stream's length.
const IS_STREAM: u32 = 1;
/// Bit in the first number of the client's greeting: do not set `TCP_NODELAY`.
const IS_DELAYED: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// The client sends a message, and the server sends a message back.
    PingPong {
        /// Size of each request: 8 bytes to 1 MiB.
        request_bytes: u32,
        /// Size of each reply: 8 bytes to 1 MiB.
        reply_bytes: u32,
    },
    /// The client sends many bytes; when the last byte has arrived, the server sends the key (the first eight bytes)
    /// back.
    Stream {
        /// Size of each request: 8 bytes to 4 GiB.
        bytes: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    pub traffic: Traffic,
    /// Whether the server sets `TCP_NODELAY`, so that it sends small packets immediately; this is the default.
    pub is_nodelay: bool,
}

impl Hello {
    pub const BYTES: usize = 16;

    /// Returns a greeting for messages of these sizes, with `TCP_NODELAY`.
    pub fn ping_pong(request_bytes: u32, reply_bytes: u32) -> Self {
        Self { traffic: Traffic::PingPong { request_bytes, reply_bytes }, is_nodelay: true }
    }

    pub fn encode(self) -> [u8; Self::BYTES] {
        let delayed = if self.is_nodelay { 0 } else { IS_DELAYED };
        let (flags, [first, second]) = match self.traffic {
            Traffic::PingPong { request_bytes, reply_bytes } => (delayed, [request_bytes, reply_bytes]),
            Traffic::Stream { bytes } => (delayed | IS_STREAM, halves(bytes)),
        };
        let mut encoded = [0; Self::BYTES];
        encoded[..4].copy_from_slice(&MAGIC);
        let numbers = [flags, first, second];
        for (place, number) in encoded[4..].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        encoded
    }

    /// Parses the client's greeting.
    ///
    /// # Errors
    /// [`WireError::Malformed`] if the bytes are not looptax's greeting, or if a size is out of bounds.
    pub fn decode(bytes: [u8; Self::BYTES]) -> Result<Self, WireError> {
        let ([magic, flags, first, second], _) = bytes.as_chunks::<4>() else {
            unreachable!("sixteen bytes are four times four");
        };
        check_magic(magic)?;
        let [flags, first, second] = [flags, first, second].map(|it| u32::from_le_bytes(*it));
        let traffic = if flags & IS_STREAM == 0 {
            Traffic::PingPong { request_bytes: first, reply_bytes: second }
        } else {
            Traffic::Stream { bytes: u64::from(first) | u64::from(second) << 32 }
        };
        let hello = Self { traffic, is_nodelay: flags & IS_DELAYED == 0 };
        hello.check()?;
        Ok(hello)
    }

    /// Checks that all sizes are within bounds.
    pub(super) fn check(self) -> Result<(), WireError> {
        let bounds = LEAST_BYTES..=MOST_BYTES;
        let (is_right, found) = match self.traffic {
            Traffic::PingPong { request_bytes, reply_bytes } => (
                bounds.contains(&request_bytes) && bounds.contains(&reply_bytes),
                format!("{request_bytes} and {reply_bytes} bytes"),
            ),
            Traffic::Stream { bytes } => {
                ((u64::from(LEAST_BYTES)..=MOST_STREAM_BYTES).contains(&bytes), format!("a stream of {bytes} bytes"))
            }
        };
        if is_right {
            return Ok(());
        }
        Err(malformed(GREET, "requests and replies of 8 bytes to 1 MiB, streams of 8 bytes to 4 GiB", found.as_bytes()))
    }
}

/// The server's greeting, with the thread that serves this connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Welcome {
    pub pid: u32,
    /// Thread id of the thread that serves this connection.
    pub tid: u32,
}

impl Welcome {
    pub const BYTES: usize = 12;

    pub fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.pid.to_le_bytes());
        bytes[8..].copy_from_slice(&self.tid.to_le_bytes());
        bytes
    }

    /// Parses the server's greeting.
    ///
    /// # Errors
    /// [`WireError::Malformed`] if the bytes are not looptax's answer.
    pub fn decode(bytes: [u8; Self::BYTES]) -> Result<Self, WireError> {
        let ([magic, pid, tid], _) = bytes.as_chunks::<4>() else {
            unreachable!("twelve bytes are three times four");
        };
        check_magic(magic)?;
        let [pid, tid] = [pid, tid].map(|it| u32::from_le_bytes(*it));
        Ok(Self { pid, tid })
    }
}

fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

pub(super) fn check_magic(found: &[u8]) -> Result<(), WireError> {
    if found == MAGIC {
        return Ok(());
    }
    Err(malformed(READ_GREETING, "the greeting `LTE2`", found))
}
