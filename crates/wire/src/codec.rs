//! What the load engine's loop needs of a protocol: requests out, replies in.
//!
//! Implementations live beside their protocol. They hold a prepared request and patch the key into
//! it; nothing here reads or writes a socket.

use std::ops::Range;

use crate::WireError;

/// One complete reply, found at the front of the received bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Bytes that the reply took, counted from the front.
    pub bytes: usize,
    /// Where the data itself (a row's value, a bulk string, the echoed bytes) lies in them; empty
    /// where the reply carries none. The two arms' data are held against each other.
    pub data: Range<usize>,
}

/// A logged-in conversation's requests and replies, without its I/O.
///
/// # Cost
/// Both members run once per request in the measured loop: no allocation, no lock, no system call.
pub trait Codec: Send {
    /// Writes the request for `key` at the end of `out` (whose capacity the caller keeps).
    fn request(&mut self, key: u64, out: &mut Vec<u8>);

    /// Looks for one whole reply at the front of `received`; `Ok(None)` when more bytes are needed.
    ///
    /// # Errors
    /// [`WireError::Server`] when the server answered with an error, [`WireError::Malformed`] or
    /// [`WireError::TooLong`] when the bytes are not a reply to our request.
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError>;
}
