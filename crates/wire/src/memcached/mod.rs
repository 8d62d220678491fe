//! memcached's text protocol: queries, filling of a server, and the measured get and set.
//!
//! This file uses the text protocol, because every version and most client libraries support it; the binary and the
//! meta protocol are not used. There is no login: memcached's own login is experimental, and our private servers do not
//! use it. Called by `bench` (codecs), `servers` (filling) and `path` (proof of an arm).
//!
//! # Source
//! memcached 1.6.18, `doc/protocol.txt`.

mod workload;

use std::time::Duration;

pub use workload::{Get, Set};

use crate::error::printable;
use crate::lines::{Lines, error_words};
use crate::{Stream, WireError};

const PROTOCOL: &str = "memcached";

/// Highest number of lines in one answer to `stats`. The answer about connections has four lines for each connection.
const STATS_LIMIT: usize = 200_000;
/// Highest number of bytes in an answer to `stats`.
const STATS_BYTES_LIMIT: u64 = 16 << 20;
/// Number of bytes in a batch of commands, approximately. The socket buffers of a default Linux (208 KiB) can hold a
/// batch in both directions, so neither side has to wait until the other side reads.
const LOT_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub struct Connection<S: Stream> {
    lines: Lines<S>,
    server_version: String,
}

impl<S: Stream> Connection<S> {
    /// Asks for the server's version, which also shows that the server is memcached.
    ///
    /// `timeout_hint` is the stream's own time limit, for error messages; the stream enforces it.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refuses, with the first word as its code (`CLIENT_ERROR`),
    /// [`WireError::Malformed`] if the peer is not memcached; `Timeout`, `Closed`, `Io`.
    pub fn hello(stream: S, timeout_hint: Duration) -> Result<Self, WireError> {
        let mut lines = Lines::new(stream, PROTOCOL, timeout_hint);
        lines.send(b"version\r\n")?;
        let line = answer(&mut lines)?;
        let Some(version) = line.strip_prefix(b"VERSION ") else {
            return Err(lines.malformed("`VERSION` and a number", &line));
        };
        let server_version = printable(version);
        lines.check_nothing_left()?;
        Ok(Self { lines, server_version })
    }

    /// Returns the server's own version, such as `1.6.18`.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// Returns the names and values of one group of the server's statistics: `""` for its counters, `settings`,
    /// `conns`. Bytes that are not text are replaced.
    ///
    /// # Errors
    /// [`WireError::Server`] if there is no group of this name, [`WireError::Malformed`] for lines that are not a
    /// statistic and for more than 200 000 lines, [`WireError::TooLong`] for more than 16 MiB; `Timeout`, `Closed`,
    /// `Io`.
    pub fn stats(&mut self, which: &str) -> Result<Vec<(String, String)>, WireError> {
        let question = format!("stats {which}");
        self.lines.send(format!("{}\r\n", question.trim_end()).as_bytes())?;
        let mut found = Vec::new();
        let mut n_bytes = 0;
        loop {
            let line = answer(&mut self.lines)?;
            if line == b"END" {
                self.lines.check_nothing_left()?;
                return Ok(found);
            }
            n_bytes += line.len() as u64;
            if n_bytes > STATS_BYTES_LIMIT {
                return Err(WireError::TooLong {
                    action: crate::lines::READ,
                    stated: n_bytes,
                    limit: STATS_BYTES_LIMIT,
                });
            }
            let Some(pair) = statistic(&line).filter(|_| found.len() < STATS_LIMIT) else {
                return Err(self.lines.malformed("at most 200 000 lines with `STAT`, a name and a value", &line));
            };
            found.push(pair);
        }
    }

    /// Sets keys to values, in batches of about 64 KiB. The keys do not expire.
    ///
    /// # Errors
    /// [`WireError::Server`] for the first key that was refused (`SERVER_ERROR out of memory storing object`): the
    /// server still stored the other keys of the batch, and later batches were not sent; [`WireError::Malformed`];
    /// `Timeout`, `Closed`, `Io`.
    pub fn store(&mut self, pairs: &[(String, Vec<u8>)]) -> Result<(), WireError> {
        let mut lot = Vec::with_capacity(2 * LOT_BYTES);
        let mut n_answered = 0;
        for (n_before, (key, value)) in pairs.iter().enumerate() {
            write_set(&mut lot, key, value, 0);
            let n_written = n_before + 1;
            if lot.len() >= LOT_BYTES || n_written == pairs.len() {
                self.send_lot(&lot, n_written - n_answered)?;
                lot.clear();
                n_answered = n_written;
            }
        }
        Ok(())
    }

    /// Returns the stream, for the load engine. No bytes after the last reply have been read from it.
    pub fn into_stream(self) -> S {
        self.lines.into_stream()
    }

    /// Sends `lot`, which contains `n_sets` commands, and reads as many replies. If a reply is an error, reads the
    /// remaining replies before it returns the error.
    fn send_lot(&mut self, lot: &[u8], n_sets: usize) -> Result<(), WireError> {
        self.lines.send(lot)?;
        let mut refusal = None;
        for _ in 0..n_sets {
            match answer(&mut self.lines) {
                Ok(line) if line == b"STORED" => {}
                Ok(line) => return Err(self.lines.malformed("`STORED`", &line)),
                Err(error @ WireError::Server { .. }) => {
                    refusal.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        self.lines.check_nothing_left()?;
        refusal.map_or(Ok(()), Err)
    }
}

/// Reads the next line; fails if the line is an error.
fn answer<S: Stream>(lines: &mut Lines<S>) -> Result<Vec<u8>, WireError> {
    // The first byte is checked before the line is complete: the greeting of another protocol may have no line end.
    let first = lines.first_byte()?;
    if !first.is_ascii_uppercase() {
        return Err(lines.malformed("a word in capitals", lines.unused()));
    }
    let line = lines.line()?;
    if !is_error(&line) {
        return Ok(line);
    }
    let (code, message) = error_words(&line);
    Err(WireError::Server { code, message })
}

/// Checks whether a whole line is one of the protocol's three errors.
fn is_error(line: &[u8]) -> bool {
    line == b"ERROR" || line.starts_with(b"CLIENT_ERROR ") || line.starts_with(b"SERVER_ERROR ")
}

/// Parses `STAT name value`; the value may be empty or contain spaces.
fn statistic(line: &[u8]) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(line);
    let (name, value) = text.strip_prefix("STAT ")?.split_once(' ')?;
    Some((name.to_owned(), value.to_owned()))
}

/// Appends `set`; a key with a lifetime of 0 seconds does not expire.
fn write_set(out: &mut Vec<u8>, key: &str, value: &[u8], ttl_s: u32) {
    let line = format!("set {key} 0 {ttl_s} {}\r\n", value.len());
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
