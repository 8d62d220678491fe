//! Replies read from the stream, with limits: nesting, elements, bytes of a string and of a reply.
//!
//! Reads ahead into a buffer, which is empty again after each exchange (else the peer sent more
//! than it was asked for). Set-up only; the measured loop's parser is `workload`.
//! Called by `Connection`.

use std::time::Duration;

use super::value::Value;
use super::{malformed, printable};
use crate::io::{read_some, write_all};
use crate::{Stream, WireError};

const SEND: &str = "send a command";
const READ: &str = "read a reply";

/// Replies of `INFO`, `CLIENT LIST` and `EXEC` nest two or three deep.
const DEPTH_LIMIT: usize = 8;
/// Most elements of all arrays of one reply.
const ELEMENT_LIMIT: u64 = 1_000_000;
/// Most bytes of one string: our largest value is far below it.
const BULK_LIMIT: u64 = 16 << 20;
/// Most bytes of one reply, counted as what it takes in memory.
const REPLY_LIMIT: u64 = 64 << 20;
/// Most bytes of a line: errors and simple strings are short.
pub(super) const LINE_LIMIT: usize = 64 << 10;
/// Bytes asked of the stream at a time.
const READ_BYTES: usize = 16 << 10;

/// What one reply may still take.
struct Allowance {
    bytes: u64,
    elements: u64,
}

/// The stream, and replies from it.
#[derive(Debug)]
pub(super) struct Replies<S> {
    stream: S,
    timeout_hint: Duration,
    buffer: Vec<u8>,
    /// Bytes at the front of `buffer` that are used up.
    n_used: usize,
}

impl<S: Stream> Replies<S> {
    pub(super) fn new(stream: S, timeout_hint: Duration) -> Self {
        Self {
            stream,
            timeout_hint,
            buffer: Vec::new(),
            n_used: 0,
        }
    }

    /// Writes whole commands.
    pub(super) fn send(&mut self, request: &[u8]) -> Result<(), WireError> {
        write_all(&mut self.stream, request, SEND, self.timeout_hint)
    }

    /// The next whole reply.
    pub(super) fn next_value(&mut self) -> Result<Value, WireError> {
        let mut allowance = Allowance {
            bytes: REPLY_LIMIT,
            elements: ELEMENT_LIMIT,
        };
        self.value(0, &mut allowance)
    }

    /// Fails when the peer sent more than the replies that were read.
    pub(super) fn check_nothing_left(&self) -> Result<(), WireError> {
        match self.unused() {
            [] => Ok(()),
            left => Err(malformed(READ, "one reply per command", left)),
        }
    }

    pub(super) fn into_stream(self) -> S {
        self.stream
    }

    fn value(&mut self, depth: usize, allowance: &mut Allowance) -> Result<Value, WireError> {
        allowance.spend(size_of::<Value>())?;
        // The marker is looked at before the line is whole: other protocols' greetings may have no
        // line end to wait for.
        let marker = self.first_byte()?;
        if !b"+-:$*".contains(&marker) {
            return Err(malformed(READ, "a RESP2 reply", self.unused()));
        }
        let line = self.line()?;
        let text = &line[1..];
        allowance.spend(text.len())?;
        match marker {
            b'+' => Ok(Value::Simple(String::from_utf8_lossy(text).into_owned())),
            b'-' => Ok(error_value(text)),
            b':' => number(text).map(Value::Integer),
            b'$' => self.bulk(number(text)?, allowance).map(Value::Bulk),
            _ => self
                .array(number(text)?, depth, allowance)
                .map(Value::Array),
        }
    }

    fn bulk(
        &mut self,
        stated: i64,
        allowance: &mut Allowance,
    ) -> Result<Option<Vec<u8>>, WireError> {
        let Some(n_bytes) = length(stated, BULK_LIMIT)? else {
            return Ok(None);
        };
        allowance.spend(n_bytes)?;
        while self.unused().len() < n_bytes + 2 {
            self.fill()?;
        }
        let (bytes, rest) = self.unused().split_at(n_bytes);
        if !rest.starts_with(b"\r\n") {
            return Err(malformed(READ, "a line end after a string", rest));
        }
        let bytes = bytes.to_vec();
        self.n_used += n_bytes + 2;
        Ok(Some(bytes))
    }

    fn array(
        &mut self,
        stated: i64,
        depth: usize,
        allowance: &mut Allowance,
    ) -> Result<Option<Vec<Value>>, WireError> {
        let Some(n_elements) = length(stated, allowance.elements)? else {
            return Ok(None);
        };
        if depth == DEPTH_LIMIT {
            return Err(malformed(READ, "at most 8 nested arrays", b"one more"));
        }
        allowance.elements -= n_elements as u64;
        let mut values = Vec::new();
        for _ in 0..n_elements {
            values.push(self.value(depth + 1, allowance)?);
        }
        Ok(Some(values))
    }

    fn first_byte(&mut self) -> Result<u8, WireError> {
        loop {
            if let Some(&byte) = self.unused().first() {
                return Ok(byte);
            }
            self.fill()?;
        }
    }

    /// Takes one line, without its end.
    fn line(&mut self) -> Result<Vec<u8>, WireError> {
        let mut n_searched = 0;
        loop {
            let unused = self.unused();
            let found = unused[n_searched..].iter().position(|&byte| byte == b'\n');
            if let Some(at) = found {
                let line = &unused[..n_searched + at];
                let Some(line) = line.strip_suffix(b"\r") else {
                    return Err(malformed(READ, "a line that ends in CR and LF", line));
                };
                let line = line.to_vec();
                self.n_used += n_searched + at + 1;
                return Ok(line);
            }
            if unused.len() > LINE_LIMIT {
                return Err(malformed(READ, "a line of at most 64 KiB", unused));
            }
            n_searched = unused.len();
            self.fill()?;
        }
    }

    fn unused(&self) -> &[u8] {
        &self.buffer[self.n_used..]
    }

    /// Reads more, at least one byte.
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

impl Allowance {
    fn spend(&mut self, n_bytes: usize) -> Result<(), WireError> {
        match self.bytes.checked_sub(n_bytes as u64) {
            Some(left) => {
                self.bytes = left;
                Ok(())
            }
            None => Err(WireError::TooLong {
                action: READ,
                stated: REPLY_LIMIT - self.bytes + n_bytes as u64,
                limit: REPLY_LIMIT,
            }),
        }
    }
}

/// An error line without its marker.
pub(super) fn error_words(line: &[u8]) -> (String, String) {
    let n_code = line.iter().position(|&byte| byte == b' ');
    let (code, message) = match n_code {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, line),
    };
    (printable(code), printable(message))
}

fn error_value(line: &[u8]) -> Value {
    let (code, message) = error_words(line);
    Value::Error { code, message }
}

/// A line's decimal number.
fn number(text: &[u8]) -> Result<i64, WireError> {
    str::from_utf8(text)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| malformed(READ, "a decimal number of 64 bits", text))
}

/// A stated length: `None` for nil (-1).
fn length(stated: i64, limit: u64) -> Result<Option<usize>, WireError> {
    match u64::try_from(stated) {
        Ok(stated) if stated > limit => Err(WireError::TooLong {
            action: READ,
            stated,
            limit,
        }),
        Ok(stated) => Ok(Some(stated as usize)),
        Err(_) if stated == -1 => Ok(None),
        Err(_) => Err(malformed(
            READ,
            "a length of 0 or more, or -1",
            stated.to_string().as_bytes(),
        )),
    }
}
