//! Reads lines and bytes from the stream during set-up, for line-based protocols.
//!
//! Reads available bytes into a buffer. After each exchange the buffer must be empty again; otherwise the peer sent
//! more than looptax requested. The measured loop does its own reading. Called by the connections of Redis and
//! memcached.

use std::time::Duration;

use crate::error::printable;
use crate::io::{read_some, write_all};
use crate::{Stream, WireError};

const SEND: &str = "send a command";
/// Name of the action, for errors while a reply is read.
pub(crate) const READ: &str = "read a reply";

/// Highest number of bytes in a line. Errors and simple strings are shorter.
pub(crate) const LINE_LIMIT: usize = 64 << 10;
/// Number of bytes that are read at a time. It is small because replies during set-up are short, and there are many
/// connections.
const READ_BYTES: usize = 4 << 10;

/// The stream, and the bytes that were read from it.
#[derive(Debug)]
pub(crate) struct Lines<S> {
    stream: S,
    protocol: &'static str,
    timeout_hint: Duration,
    buffer: Vec<u8>,
    /// Number of bytes at the start of `buffer` that have been processed.
    n_used: usize,
}

impl<S: Stream> Lines<S> {
    /// Makes a reader of `stream`. `timeout_hint` is the stream's own time limit, for error messages.
    pub(crate) fn new(stream: S, protocol: &'static str, timeout_hint: Duration) -> Self {
        Self { stream, protocol, timeout_hint, buffer: Vec::new(), n_used: 0 }
    }

    pub(crate) fn send(&mut self, request: &[u8]) -> Result<(), WireError> {
        write_all(&mut self.stream, request, SEND, self.timeout_hint)
    }

    /// Fails if the peer sent more than the replies that were read.
    pub(crate) fn check_nothing_left(&self) -> Result<(), WireError> {
        match self.unused() {
            [] => Ok(()),
            left => Err(self.malformed("one reply per command", left)),
        }
    }

    pub(crate) fn into_stream(self) -> S {
        self.stream
    }

    /// Returns the next byte without consuming it.
    pub(crate) fn first_byte(&mut self) -> Result<u8, WireError> {
        loop {
            if let Some(&byte) = self.unused().first() {
                return Ok(byte);
            }
            self.fill()?;
        }
    }

    /// Consumes one line, and returns it without its end.
    pub(crate) fn line(&mut self) -> Result<Vec<u8>, WireError> {
        let mut n_searched = 0;
        loop {
            let unused = self.unused();
            let found = unused[n_searched..].iter().position(|&byte| byte == b'\n');
            if let Some(at) = found {
                let line = &unused[..n_searched + at];
                let Some(line) = line.strip_suffix(b"\r") else {
                    return Err(self.malformed("a line that ends in CR and LF", line));
                };
                let line = line.to_vec();
                self.n_used += n_searched + at + 1;
                return Ok(line);
            }
            if unused.len() > LINE_LIMIT {
                return Err(self.malformed("a line of at most 64 KiB", unused));
            }
            n_searched = unused.len();
            self.fill()?;
        }
    }

    /// Consumes `n_bytes` bytes and the line end after them.
    pub(crate) fn string(&mut self, n_bytes: usize) -> Result<Vec<u8>, WireError> {
        while self.unused().len() < n_bytes + 2 {
            self.fill()?;
        }
        let (bytes, rest) = self.unused().split_at(n_bytes);
        if !rest.starts_with(b"\r\n") {
            return Err(self.malformed("a line end after a string", rest));
        }
        let bytes = bytes.to_vec();
        self.n_used += n_bytes + 2;
        Ok(bytes)
    }

    /// Returns the received bytes that are not yet used.
    pub(crate) fn unused(&self) -> &[u8] {
        &self.buffer[self.n_used..]
    }

    /// Returns the error for a peer that sent `found` instead of `expected`.
    pub(crate) fn malformed(&self, expected: &'static str, found: &[u8]) -> WireError {
        WireError::Malformed { protocol: self.protocol, action: READ, expected, found: printable(found) }
    }

    /// Reads more bytes, at least one.
    fn fill(&mut self) -> Result<(), WireError> {
        self.buffer.drain(..self.n_used);
        self.n_used = 0;
        let n_held = self.buffer.len();
        self.buffer.resize(n_held + READ_BYTES, 0);
        let free = &mut self.buffer[n_held..];
        let outcome = read_some(&mut self.stream, free, READ, self.timeout_hint);
        let n_read = outcome.as_ref().map_or(0, |&n_read| n_read);
        self.buffer.truncate(n_held + n_read);
        outcome.map(|_| ())
    }
}

/// Splits an error line into its first word and the other words (if there are none, the first word again). Both parts
/// are escaped and truncated.
pub(crate) fn error_words(line: &[u8]) -> (String, String) {
    let n_code = line.iter().position(|&byte| byte == b' ');
    let (code, message) = match n_code {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, line),
    };
    (printable(code), printable(message))
}
