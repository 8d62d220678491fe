//! HTTP/1.1 for the load engine: one request, repeated on a connection, as a web server sends requests to its upstream.
//!
//! [`crate::http`] reads any answer as a whole, with the help of a library. This module is for the measured loop: an
//! answer is skipped as it arrives, counted, and compared with the expected answer. [`Connection::hello`] sends one
//! request and finds out which server answers; [`Fetch`] is the codec. Called by `path`.
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

/// Header in the answers of looptax's own upstream: the kernel's id of the thread that serves the connection.
pub const WORKER_HEADER: &str = "Looptax-Worker";
/// Header in the answers of looptax's own upstream: the client's address, if the connection is over TCP.
pub const PEER_HEADER: &str = "Looptax-Peer";

/// A connection on which the server has answered one request, unless the connection was made with `silent`.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    stream: S,
    target: String,
    who: Who,
}

/// Facts about a server, from its first answer.
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
    /// Returns a connection on which no request has been sent yet.
    pub fn silent(stream: S, target: &str) -> Self {
        Self { stream, target: target.to_owned(), who: Who::default() }
    }

    /// Requests `target`, a path with its query, and reads the whole answer.
    ///
    /// `limit` is the stream's own time limit, for error messages; the stream enforces it.
    ///
    /// # Errors
    /// [`WireError::Request`] for a target that HTTP does not allow; the errors of [`Fetch`] for the answer; `Timeout`,
    /// `Closed`, `Io`.
    pub fn hello(mut stream: S, target: &str, limit: Duration) -> Result<Self, WireError> {
        let (who, _) = ask(&mut stream, target, limit)?;
        Ok(Self { who, ..Self::silent(stream, target) })
    }

    /// Asks looptax's own upstream how many pages it has answered on all connections together.
    ///
    /// # Errors
    /// As [`Self::hello`]; [`WireError::Malformed`] if the answer is not a number.
    pub fn count(&mut self, limit: Duration) -> Result<u64, WireError> {
        let (_, body) = ask(&mut self.stream, &format!("/{}", site::COUNT), limit)?;
        let number = std::str::from_utf8(&body).ok().and_then(|it| it.parse().ok());
        number.ok_or_else(|| malformed("a number of requests", &body))
    }

    /// Returns the path and query of the first request.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns the value of the answer's header `Server`; empty if the header is missing.
    pub fn server(&self) -> &str {
        &self.who.server
    }

    /// Returns the thread that serves the connection, if looptax's own upstream is at the other end.
    pub fn worker(&self) -> Option<u32> {
        self.who.worker
    }

    /// Returns the client's address as the server sees it, if the connection is over TCP to looptax's own upstream.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.who.peer
    }

    /// Returns the stream, for the load engine. No bytes after the last reply have been read from it.
    pub fn into_stream(self) -> S {
        self.stream
    }
}

/// Sends one request and reads its answer. Returns the answer's facts about the server, and the body if the body is
/// short and its length was announced.
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
