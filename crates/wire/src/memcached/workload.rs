//! The measured commands as codecs: get and set.
//!
//! Runs in the measured loop: `request` copies a template and writes twelve digits into it, `reply` finds the bounds of
//! one short reply. Neither function allocates (except for an error), locks, logs, or makes a system call. The load
//! engine calls them; this file does no I/O.

use super::{PROTOCOL, write_set};
use crate::keyed::{KEY_DIGITS, Keyed, VALUE_LIMIT, filler, fixed_reply, key_zero};
use crate::lines::{LINE_LIMIT, error_words};
use crate::{Codec, Draws, Renewal, Reply, WireError};

const READ_REPLY: &str = "read the reply to a measured command";

/// The answer to a get of a missing key. It is also the last line of every other answer to a get.
const END: &[u8] = b"END\r\n";
/// The text between a key and the length of its value: the flags, which looptax always sets to 0.
const FLAGS: &[u8] = b" 0 ";
/// Highest number of characters in a length. The longest length that looptax accepts has eight digits.
const LENGTH_CHARS: usize = 10;
/// The beginnings of the server's errors.
const ERRORS: [&[u8]; 3] = [b"ERROR\r\n", b"CLIENT_ERROR ", b"SERVER_ERROR "];

/// The command `get prefix000000000042`. The reply's data is the value, empty if the key does not exist.
#[derive(Debug, Clone)]
pub struct Get {
    command: Keyed,
    /// The start of an answer with a value: `VALUE` and the prefix of the keys.
    head: Vec<u8>,
}

impl Get {
    /// Makes the command. A key consists of `prefix` and the key's lowest twelve decimal digits.
    pub fn new(prefix: &str) -> Self {
        let start = format!("get {prefix}");
        let command = format!("get {}\r\n", key_zero(prefix));
        Self { command: Keyed::new(command.into_bytes(), start.len()), head: format!("VALUE {prefix}").into_bytes() }
    }

    /// Returns the position and the length of the value, if the line before it is complete.
    #[inline]
    fn value_at(&self, received: &[u8]) -> Result<Option<(usize, usize)>, WireError> {
        const EXPECTED: &str = "key, flags 0 and the length of the requested value";
        let flags_at = self.head.len() + KEY_DIGITS;
        let length_at = flags_at + FLAGS.len();
        let Some(rest) = received.get(length_at..) else {
            return Ok(None);
        };
        let digits = &received[self.head.len()..flags_at];
        if !digits.iter().all(u8::is_ascii_digit) || received[flags_at..length_at] != *FLAGS {
            return Err(malformed(EXPECTED, received));
        }
        let front = &rest[..rest.len().min(LENGTH_CHARS)];
        let Some(n_chars) = front.iter().position(|byte| !byte.is_ascii_digit()) else {
            return if front.len() == LENGTH_CHARS { Err(malformed(EXPECTED, received)) } else { Ok(None) };
        };
        match rest.get(n_chars..n_chars + 2) {
            None if rest[n_chars] == b'\r' => return Ok(None),
            Some(b"\r\n") if n_chars > 0 => {}
            _ => return Err(malformed(EXPECTED, received)),
        }
        // The text has at most nine digits, so the number fits into 64 bits.
        let stated = front[..n_chars].iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        if stated > VALUE_LIMIT {
            return Err(WireError::TooLong { action: READ_REPLY, stated, limit: VALUE_LIMIT });
        }
        Ok(Some((length_at + n_chars + 2, stated as usize)))
    }
}

impl Codec for Get {
    #[inline]
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        self.command.write(draws.key(), out);
    }

    fn renewal(&self) -> Renewal {
        self.command.renewal()
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        if !received.starts_with(&self.head) {
            if self.head.starts_with(received) {
                return Ok(None);
            }
            return fixed_reply(received, END, || other_reply(received, "the value or `END`"));
        }
        let Some((at, n_bytes)) = self.value_at(received)? else {
            return Ok(None);
        };
        let end = at + n_bytes;
        let bytes = end + "\r\n".len() + END.len();
        match received.get(end..bytes) {
            None => Ok(None),
            Some(b"\r\nEND\r\n") => Ok(Some(Reply { bytes, data: at..end })),
            Some(other) => Err(malformed("a line end and `END` after a value", other)),
        }
    }
}

/// The command `set prefix000000000042 …`. The reply is `STORED`, without data.
#[derive(Debug, Clone)]
pub struct Set(Keyed);

impl Set {
    /// Makes the command, with keys as in [`Get::new`]. The value is the letter x, repeated `value_bytes` times. The
    /// key expires after `ttl_s` seconds (at most 30 days, because memcached treats a larger number as a date), or
    /// never.
    pub fn new(prefix: &str, value_bytes: usize, ttl_s: Option<u32>) -> Self {
        let mut bytes = Vec::new();
        let value = filler(value_bytes);
        write_set(&mut bytes, &key_zero(prefix), &value, ttl_s.unwrap_or(0));
        let start = format!("set {prefix}");
        Self(Keyed::new(bytes, start.len()))
    }
}

impl Codec for Set {
    #[inline]
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        self.0.write(draws.key(), out);
    }

    fn renewal(&self) -> Renewal {
        self.0.renewal()
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        fixed_reply(received, b"STORED\r\n", || other_reply(received, "`STORED`"))
    }
}

/// Handles bytes that are neither the expected reply nor its beginning: they are an error from the server, or not a
/// reply at all.
#[cold]
fn other_reply(received: &[u8], expected: &'static str) -> Result<Option<Reply>, WireError> {
    let may_be_error = ERRORS.iter().any(|error| received.starts_with(error) || error.starts_with(received));
    if !may_be_error {
        return Err(malformed(expected, received));
    }
    let Some(at) = received.windows(2).position(|pair| pair == b"\r\n") else {
        if received.len() > LINE_LIMIT {
            return Err(malformed("a line of at most 64 KiB", received));
        }
        return Ok(None);
    };
    let (code, message) = error_words(&received[..at]);
    Err(WireError::Server { code, message })
}

fn malformed(expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed(PROTOCOL, READ_REPLY, expected, found)
}
