//! The interface between the load engine's loop and a protocol: writes requests, recognises replies.
//!
//! Each implementation is in the folder of its protocol. It holds a prepared request and writes the key into it; it
//! does not read or write a socket.

use std::ops::Range;

use crate::{Draws, Renewal, WireError};

/// One complete reply at the start of the received bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Length of the reply in bytes, from the start.
    pub bytes: usize,
    /// The place of the data in these bytes (a row's value, a bulk string, the echoed bytes); empty if the reply has no
    /// data. The data of the two arms are compared.
    pub data: Range<usize>,
}

/// Initial size of the receive buffer: the answer to a point select takes 200 to 400 bytes. Thousands of connections
/// have one buffer each.
const ROOM_BYTES: usize = 4 << 10;
/// Size of the receive buffer if answers are long and are dropped as they arrive: as much as both ends' sockets hold.
pub(crate) const STREAM_ROOM_BYTES: usize = 256 << 10;

/// Checks that a dump contained all rows.
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

/// The requests and replies of a logged-in connection, without I/O.
///
/// A request consists of one message to the server and its reply, or of several such exchanges in turn: a transaction
/// of five statements is one request.
///
/// # Cost
/// All methods run once per message in the measured loop: no allocation, no lock, no system call.
pub trait Codec: Send {
    /// Appends the next message to `out`, whose capacity the caller keeps. A request's numbers are drawn when its first
    /// message is written.
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>);

    /// Looks for one whole reply at the start of `received`; `Ok(None)` if more bytes are needed.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server answered with an error; [`WireError::Malformed`] or [`WireError::TooLong`]
    /// if the bytes are not a reply to our request.
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError>;

    /// Whether the request of the last reply may continue with another message. If it turns out that it does not,
    /// [`Codec::request`] then writes nothing.
    fn goes_on(&self) -> bool {
        false
    }

    /// How a request of one message is made from the request before. The same for all requests of a connection.
    fn renewal(&self) -> Renewal {
        Renewal::Anew
    }

    /// The length of a request that is a stream: its message is sent repeatedly, the last time only in part, until this
    /// many bytes are sent. `None` if a message is sent once. The same for all requests of a connection.
    fn stream_bytes(&self) -> Option<u64> {
        None
    }

    /// After [`Codec::reply`] found no whole reply: how many bytes at the start of `received` are finished. The caller
    /// drops them, so that a long answer needs no long buffer.
    fn n_passed(&self) -> usize {
        0
    }

    /// Initial size of the caller's receive buffer. It grows for a reply that does not fit.
    fn room_bytes(&self) -> usize {
        ROOM_BYTES
    }
}
