//! HTTP/1.1 under load: one request again and again on a connection, as a web server asks its upstream.
//!
//! Beside [`crate::http`], which takes any answer whole and with a library's help, this is for the measured loop: an
//! answer is passed over as it comes, counted, and compared with what it must be. [`Connection::hello`] asks once and
//! finds out which server answers; [`Fetch`] is the codec. Called by path.
//!
//! # Source
//! RFC 9112, sections 4, 6, 7 and 9.

mod chunks;
mod fault;
mod fetch;

use std::net::SocketAddr;
use std::time::Duration;

pub use fetch::{Asked, Fetch};

use fault::malformed;

use crate::error::printable;
use crate::io::{read_some, write_all};
use crate::{Codec, Stream, WireError, site};

const ASK: &str = "request the page once";
const READ_BYTES: usize = 16 << 10;

/// In the answers of looptax's own upstream: the kernel's number of the thread that serves the connection.
pub const WORKER_HEADER: &str = "Looptax-Worker";
/// In the same: the address that a connection over TCP comes from.
pub const PEER_HEADER: &str = "Looptax-Peer";

/// A connection that has answered once.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    stream: S,
    target: String,
    who: Who,
}

/// A server's first answer about itself.
#[derive(Debug, Clone, Default)]
struct Who {
    server: String,
    worker: Option<u32>,
    peer: Option<SocketAddr>,
}

impl Who {
    fn of(head: &fetch::Head<'_, '_>) -> Self {
        let header = |name| fetch::header(head, name);
        Self {
            server: printable(header("Server").unwrap_or_default().as_bytes()),
            worker: header(WORKER_HEADER).and_then(|it| it.parse().ok()),
            peer: header(PEER_HEADER).and_then(|it| it.parse().ok()),
        }
    }
}

impl<S: Stream> Connection<S> {
    /// A connection that nothing was asked on yet.
    pub fn silent(stream: S, target: &str) -> Self {
        Self { stream, target: target.to_owned(), who: Who::default() }
    }

    /// Asks for `target`, a path with its query, and takes the whole answer.
    ///
    /// `limit` is the stream's own time limit, for the text of errors; the stream enforces it.
    ///
    /// # Errors
    /// [`WireError::Request`] for a target that HTTP does not allow; what [`Fetch`] says of the answer;
    /// `Timeout`, `Closed`, `Io`.
    pub fn hello(mut stream: S, target: &str, limit: Duration) -> Result<Self, WireError> {
        let (who, _) = ask(&mut stream, target, limit)?;
        Ok(Self { who, ..Self::silent(stream, target) })
    }

    /// Asks looptax's own upstream how many pages it has answered, on all connections together.
    ///
    /// # Errors
    /// As [`Self::hello`]; [`WireError::Malformed`] for what is not a number.
    pub fn count(&mut self, limit: Duration) -> Result<u64, WireError> {
        let (_, body) = ask(&mut self.stream, &format!("/{}", site::COUNT), limit)?;
        let number = std::str::from_utf8(&body).ok().and_then(|it| it.parse().ok());
        number.ok_or_else(|| malformed("a number of requests", &body))
    }

    /// The path and query that were asked for.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The value of the answer's header `Server`; empty if there is none.
    pub fn server(&self) -> &str {
        &self.who.server
    }

    /// The thread that serves the connection, where looptax's own upstream is at its other end.
    pub fn worker(&self) -> Option<u32> {
        self.who.worker
    }

    /// The address from which it sees the connection come, if it is TCP and looptax's own upstream is at its other end.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.who.peer
    }

    /// The stream, for the load engine. Nothing of the session has been read ahead.
    pub fn into_stream(self) -> S {
        self.stream
    }
}

/// One request and its answer: what that says of the server, and its body where it is short and of a stated length.
fn ask<S: Stream>(stream: &mut S, target: &str, limit: Duration) -> Result<(Who, Vec<u8>), WireError> {
    let mut fetch = Fetch::new(&Asked::page(target))?;
    let mut request = Vec::new();
    fetch.request(&mut 0, &mut request);
    write_all(stream, &request, ASK, limit)?;
    let mut received = Vec::new();
    let mut who = None;
    loop {
        let at = received.len();
        received.resize(at + READ_BYTES, 0);
        let n = read_some(stream, &mut received[at..], ASK, limit)?;
        received.truncate(at + n);
        if who.is_none() {
            who = fetch::with_head(&received, Who::of)?.map(|(_, who)| who);
        }
        if let Some(reply) = fetch.reply(&received)? {
            return match &received[reply.bytes..] {
                [] => Ok((who.unwrap_or_default(), received[reply.data].to_vec())),
                more => Err(malformed("one answer to one request", more)),
            };
        }
        received.drain(..fetch.n_passed());
    }
}
