//! HTTP/1.1 under load: one request again and again on a connection, as a web server asks its upstream.
//!
//! Beside [`crate::http`], which takes any answer whole and with a library's help, this is for the measured loop: an
//! answer is passed over as it comes, counted, and held against what it must be.
//! [`Connection::hello`] asks once and says who answers; [`Fetch`] is the codec. Called by path.
//!
//! # Source
//! RFC 9112, sections 4, 6, 7 and 9.

mod chunks;
mod fetch;

use std::time::Duration;

pub use fetch::{Asked, Fetch};

use crate::error::printable;
use crate::io::{read_some, write_all};
use crate::{Codec, Stream, WireError};

/// The protocol's name in errors.
const PROTOCOL: &str = "HTTP";
const ASK: &str = "ask for the page once";
const READ_BYTES: usize = 16 << 10;

/// In the answers of looptax's own upstream: the kernel's number of the thread that serves the connection.
pub const WORKER_HEADER: &str = "Looptax-Worker";

/// A connection that has answered once.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    stream: S,
    target: String,
    server: String,
    worker: Option<u32>,
}

impl<S: Stream> Connection<S> {
    /// A connection that nothing was asked on yet.
    pub fn silent(stream: S, target: &str) -> Self {
        Self {
            stream,
            target: target.to_owned(),
            server: String::new(),
            worker: None,
        }
    }

    /// Asks for `target`, a path with its query, and takes the whole answer.
    ///
    /// `limit` is the stream's own time limit, for the text of errors; the stream enforces it.
    ///
    /// # Errors
    /// [`WireError::Request`] for a target that HTTP does not allow; what [`Fetch`] says of the answer;
    /// `Timeout`, `Closed`, `Io`.
    pub fn hello(mut stream: S, target: &str, limit: Duration) -> Result<Self, WireError> {
        let mut fetch = Fetch::new(&Asked::page(target))?;
        let mut request = Vec::new();
        fetch.request(&mut 0, &mut request);
        write_all(&mut stream, &request, ASK, limit)?;
        let mut received = Vec::new();
        let mut named = None;
        loop {
            let at = received.len();
            received.resize(at + READ_BYTES, 0);
            let n = read_some(&mut stream, &mut received[at..], ASK, limit)?;
            received.truncate(at + n);
            if named.is_none() {
                let looked = fetch::with_head(&received, |head| {
                    let header = |name| fetch::header(head, name);
                    let worker = header(WORKER_HEADER).and_then(|it| it.parse().ok());
                    let server = header("Server").unwrap_or_default();
                    (printable(server.as_bytes()), worker)
                })?;
                named = looked.map(|(_, named)| named);
            }
            if let Some(reply) = fetch.reply(&received)? {
                if reply.bytes < received.len() {
                    let found = &received[reply.bytes..];
                    return Err(fetch::malformed("one answer to one request", found));
                }
                break;
            }
            received.drain(..fetch.n_passed());
        }
        let (server, worker) = named.unwrap_or_default();
        Ok(Self {
            server,
            worker,
            ..Self::silent(stream, target)
        })
    }

    /// The path and query that were asked for.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What the answer's header `Server` says; empty where it says nothing.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The thread that serves the connection, where looptax's own upstream is at its other end.
    pub fn worker(&self) -> Option<u32> {
        self.worker
    }

    /// The stream, for the load engine. Nothing of the session has been read ahead.
    pub fn into_stream(self) -> S {
        self.stream
    }
}
