//! Reads replies from the stream, with limits for nesting, elements, and the bytes of a string and of a reply.
//!
//! Only for set-up; the measured loop uses the parser in `workload`. Called by `Connection`.

use std::time::Duration;

use super::fault::{PROTOCOL, malformed};
use super::value::Value;
use crate::lines::{Lines, READ, error_words};
use crate::{Stream, WireError};

/// Deepest nesting. Replies of `INFO`, `CLIENT LIST` and `EXEC` have two or three levels.
const DEPTH_LIMIT: usize = 8;
/// Highest number of elements in all arrays of one reply.
const ELEMENT_LIMIT: u64 = 1_000_000;
/// Highest number of bytes in one string. looptax's largest value is far below this limit.
const BULK_LIMIT: u64 = 16 << 20;
/// Highest number of bytes that one reply may take in memory.
const REPLY_LIMIT: u64 = 64 << 20;

/// The amount of memory and elements that one reply may still use.
struct Allowance {
    bytes: u64,
    elements: u64,
}

#[derive(Debug)]
pub(super) struct Replies<S> {
    lines: Lines<S>,
}

impl<S: Stream> Replies<S> {
    pub(super) fn new(stream: S, timeout_hint: Duration) -> Self {
        Self { lines: Lines::new(stream, PROTOCOL, timeout_hint) }
    }

    pub(super) fn send(&mut self, request: &[u8]) -> Result<(), WireError> {
        self.lines.send(request)
    }

    pub(super) fn next_value(&mut self) -> Result<Value, WireError> {
        let mut allowance = Allowance { bytes: REPLY_LIMIT, elements: ELEMENT_LIMIT };
        self.value(0, &mut allowance)
    }

    /// Fails if the peer sent more than the replies that were read.
    pub(super) fn check_nothing_left(&self) -> Result<(), WireError> {
        self.lines.check_nothing_left()
    }

    pub(super) fn into_stream(self) -> S {
        self.lines.into_stream()
    }

    fn value(&mut self, depth: usize, allowance: &mut Allowance) -> Result<Value, WireError> {
        allowance.spend(size_of::<Value>())?;
        // The marker is checked before the line is complete: the greeting of another protocol may have no line end.
        let marker = self.lines.first_byte()?;
        if !b"+-:$*".contains(&marker) {
            return Err(malformed(READ, "a RESP2 reply", self.lines.unused()));
        }
        let line = self.lines.line()?;
        let text = &line[1..];
        allowance.spend(text.len())?;
        match marker {
            b'+' => Ok(Value::Simple(String::from_utf8_lossy(text).into_owned())),
            b'-' => Ok(error_value(text)),
            b':' => number(text).map(Value::Integer),
            b'$' => self.bulk(number(text)?, allowance).map(Value::Bulk),
            _ => self.array(number(text)?, depth, allowance).map(Value::Array),
        }
    }

    fn bulk(&mut self, stated: i64, allowance: &mut Allowance) -> Result<Option<Vec<u8>>, WireError> {
        let Some(n_bytes) = length(stated, BULK_LIMIT)? else {
            return Ok(None);
        };
        allowance.spend(n_bytes)?;
        self.lines.string(n_bytes).map(Some)
    }

    fn array(&mut self, stated: i64, depth: usize, allowance: &mut Allowance) -> Result<Option<Vec<Value>>, WireError> {
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

fn error_value(line: &[u8]) -> Value {
    let (code, message) = error_words(line);
    Value::Error { code, message }
}

fn number(text: &[u8]) -> Result<i64, WireError> {
    str::from_utf8(text)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| malformed(READ, "a decimal number of 64 bits", text))
}

/// Checks a stated length; `None` for nil (-1).
fn length(stated: i64, limit: u64) -> Result<Option<usize>, WireError> {
    match u64::try_from(stated) {
        Ok(stated) if stated > limit => Err(WireError::TooLong { action: READ, stated, limit }),
        Ok(stated) => Ok(Some(stated as usize)),
        Err(_) if stated == -1 => Ok(None),
        Err(_) => Err(malformed(READ, "a length of 0 or more, or -1", stated.to_string().as_bytes())),
    }
}
