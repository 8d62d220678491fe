//! memcached's text protocol: ask, fill, and the measured get and set.
//!
//! The text protocol, not the binary or the meta one: every version and most client libraries speak
//! it. There is no login: memcached's own is experimental, and our private servers go without.
//! Called by bench (codecs), servers (filling) and path (proof of an arm).
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

/// Most lines of one answer to `stats`: that about connections has four for each of them.
const STATS_LIMIT: usize = 200_000;
/// Most bytes of such an answer.
const STATS_BYTES_LIMIT: u64 = 16 << 20;
/// Commands are sent in lots of about this many bytes: both socket buffers of an untuned Linux
/// (208 KiB) hold one, so neither side waits for the other to read.
const LOT_BYTES: usize = 64 << 10;

/// A session over `S`.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    lines: Lines<S>,
    server_version: String,
}

impl<S: Stream> Connection<S> {
    /// Asks for the version, which also shows that it is memcached.
    ///
    /// `timeout_hint` is the stream's own time limit, for the text of errors; the stream enforces it.
    ///
    /// # Errors
    /// [`WireError::Server`] when the server refuses, with the first word as its code (`CLIENT_ERROR`),
    /// [`WireError::Malformed`] when it is not a memcached; `Timeout`, `Closed`, `Io`.
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

    /// The server's own version, as in `1.6.18`.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The names and values of one of the server's statistics: `""` for its counters, `settings`, `conns`. Bytes that
    /// are not text are replaced.
    ///
    /// # Errors
    /// [`WireError::Server`] when there is none of that name, [`WireError::Malformed`] for lines that are not a
    /// statistic and for over 200 000 lines, [`WireError::TooLong`] for over 16 MiB; `Timeout`, `Closed`, `Io`.
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
                return Err(self.lines.malformed("at most 200 000 of `STAT`, a name and a value", &line));
            };
            found.push(pair);
        }
    }

    /// Sets keys to values, some 64 KiB at a time. They live for ever.
    ///
    /// # Errors
    /// [`WireError::Server`] for the first that was refused (`SERVER_ERROR out of memory storing
    /// object`): the rest of its lot was still carried out, later lots were not sent;
    /// [`WireError::Malformed`]; `Timeout`, `Closed`, `Io`.
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

    /// The stream, for the load engine. Nothing of the session has been read ahead.
    pub fn into_stream(self) -> S {
        self.lines.into_stream()
    }

    /// Sends `lot`, which holds `n_sets`, and reads as many replies, all of them before an error among
    /// them is given.
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

/// The next line, or the error that it holds.
fn answer<S: Stream>(lines: &mut Lines<S>) -> Result<Vec<u8>, WireError> {
    // Looked at before the line is whole: other protocols' greetings may have no line end to wait for.
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

/// Whether a whole line is one of the protocol's three errors.
fn is_error(line: &[u8]) -> bool {
    line == b"ERROR" || line.starts_with(b"CLIENT_ERROR ") || line.starts_with(b"SERVER_ERROR ")
}

/// `STAT name value`; the value may be empty or have spaces.
fn statistic(line: &[u8]) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(line);
    let (name, value) = text.strip_prefix("STAT ")?.split_once(' ')?;
    Some((name.to_owned(), value.to_owned()))
}

/// Appends `set`; a key that lives for 0 seconds lives for ever.
fn write_set(out: &mut Vec<u8>, key: &str, value: &[u8], ttl_s: u32) {
    let line = format!("set {key} 0 {ttl_s} {}\r\n", value.len());
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
