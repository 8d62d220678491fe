//! The interface that the load engine's loop needs from a protocol: requests out, replies in.
//!
//! Implementations live beside their protocol. They hold a prepared request and patch the key into
//! it; nothing here reads or writes a socket.

use std::ops::Range;

use crate::{Draws, Renewal, WireError};

/// One complete reply, found at the front of the received bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Bytes that the reply took, counted from the front.
    pub bytes: usize,
    /// The place of the data itself in them (a row's value, a bulk string, the echoed bytes); empty if the reply
    /// carries no data. The two arms' data are compared.
    pub data: Range<usize>,
}

/// Room for an answer before the buffer has to grow: a point select takes 200 to 400 bytes. Thousands of
/// connections have one each.
const ROOM_BYTES: usize = 4 << 10;
/// Room where answers are long and dropped as they come: as much as both ends' sockets hold.
pub(crate) const STREAM_ROOM_BYTES: usize = 256 << 10;

/// Whether a dump had all rows.
pub(crate) fn check_rows(protocol: &'static str, found: u64, expected: u64) -> Result<(), WireError> {
    if found == expected {
        return Ok(());
    }
    Err(WireError::Malformed {
        protocol,
        action: "read a whole table",
        expected: "as many rows as the table has",
        found: format!("{found} rows instead of {expected}"),
    })
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

    /// How a request of one message is made of the last one. The same for all requests of a connection.
    fn renewal(&self) -> Renewal {
        Renewal::Anew
    }

    /// The length of a request that is a stream: its message is sent again and again, the last time cut, until this
    /// many bytes are sent. `None` if a message is sent once. The same for all requests of a connection.
    fn stream_bytes(&self) -> Option<u64> {
        None
    }

    /// After [`Codec::reply`] found no whole reply: how many bytes at the front of what it was given are
    /// done with, so that the caller drops them and a long answer needs no long buffer.
    fn n_passed(&self) -> usize {
        0
    }

    /// Room that the caller's receive buffer has at first. It grows for a reply that does not fit.
    fn room_bytes(&self) -> usize {
        ROOM_BYTES
    }
}
