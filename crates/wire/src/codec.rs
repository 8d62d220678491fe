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

/// The numbers that a request is made of.
pub trait Draws {
    /// The next key, from 1 to the number of keys that there are.
    fn key(&mut self) -> u64;
    /// 64 random bits.
    fn bits(&mut self) -> u64;
}

/// The same number whenever one is asked for: for set-up and tests.
impl Draws for u64 {
    fn key(&mut self) -> u64 {
        *self
    }

    fn bits(&mut self) -> u64 {
        *self
    }
}

/// A logged-in conversation's requests and replies, without its I/O.
///
/// A request takes one message to the server and one reply, or several in turn: a transaction of
/// five statements is one request.
///
/// # Cost
/// All members run once per message in the measured loop: no allocation, no lock, no system call.
pub trait Codec: Send {
    /// Writes the next message at the end of `out` (whose capacity the caller keeps). A request's
    /// numbers are drawn when its first message is written.
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>);

    /// Looks for one whole reply at the front of `received`; `Ok(None)` when more bytes are needed.
    ///
    /// # Errors
    /// [`WireError::Server`] when the server answered with an error, [`WireError::Malformed`] or
    /// [`WireError::TooLong`] when the bytes are not a reply to our request.
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError>;

    /// Whether the request that the last reply belongs to goes on with another message; a request that
    /// finds out by then that it does not writes nothing.
    fn goes_on(&self) -> bool {
        false
    }

    /// The length of a request that is a stream: its message goes out again and again, the last time
    /// cut, until so many bytes are sent. `None` where a message is sent once. The same for all
    /// requests of a connection.
    fn stream_bytes(&self) -> Option<u64> {
        None
    }
}
