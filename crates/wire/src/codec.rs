//! The interface between the load engine's loop and a protocol, which writes requests and recognises replies.
//!
//! Each implementation is in the folder of its protocol. It holds a prepared request and writes the key into it; it
//! does not read or write a socket.

use std::ops::Range;

use crate::{Draws, Renewal, WireError};

/// A complete reply at the start of the received bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Length of the reply in bytes, from the start.
    pub bytes: usize,
    /// Position of the reply's data (a row's value, a bulk string, the echoed bytes) in the received bytes; empty if
    /// the reply has no data. looptax compares the data of the two arms.
    pub data: Range<usize>,
}

/// Initial size of the receive buffer. The answer to a point select takes 200 to 400 bytes. The size is small because
/// each of several thousand connections has its own buffer.
const ROOM_BYTES: usize = 4 << 10;
/// Size of the receive buffer for long answers that are dropped as they arrive: as much as the socket buffers of both
/// ends hold.
pub(crate) const STREAM_ROOM_BYTES: usize = 256 << 10;

/// Checks that the answer to a dump contained all rows.
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

/// Writes the requests of a logged-in connection and recognises its replies, without I/O.
///
/// A request consists of one message to the server and its reply, or of several such exchanges one after the other. For
/// example, a transaction of five statements is one request.
///
/// # Cost
/// All methods run once per message in the measured loop. They must not allocate, lock or make a system call.
pub trait Codec: Send {
    /// Appends the next message to `out`; the caller keeps the capacity of `out`. The random numbers of a request are
    /// drawn when its first message is written.
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>);

    /// Looks for one complete reply at the start of `received`; returns `Ok(None)` if more bytes are needed.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server answered with an error; [`WireError::Malformed`] or [`WireError::TooLong`]
    /// if the bytes are not a reply to our request.
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError>;

    /// Returns whether the request to which the last reply belongs may continue with another message. If it turns out
    /// that the request is complete, the next call of [`Codec::request`] writes nothing.
    fn goes_on(&self) -> bool {
        false
    }

    /// Returns the change that turns a request of one message into the next request. The result is the same for all
    /// requests of a connection.
    fn renewal(&self) -> Renewal {
        Renewal::Anew
    }

    /// Returns the length of a request that is a stream; `None` if the message is sent only once. A stream sends its
    /// message repeatedly until this many bytes are sent; the last repetition may be cut off. The result is the same
    /// for all requests of a connection.
    fn stream_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns how many bytes at the start of `received` are no longer needed after [`Codec::reply`] found no complete
    /// reply. The caller drops them, so the buffer can be shorter than the answer.
    fn n_passed(&self) -> usize {
        0
    }

    /// Returns the initial size of the caller's receive buffer. The buffer grows for a reply that does not fit.
    fn room_bytes(&self) -> usize {
        ROOM_BYTES
    }
}
