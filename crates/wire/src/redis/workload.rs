//! The measured commands as codecs: GET, SET and PING.
//!
//! Runs in the measured loop: `request` copies a template and writes twelve digits into it, `reply` finds the bounds of
//! one short reply. Neither function allocates (except for an error), locks, logs, or makes a system call. The load
//! engine calls them; this file does no I/O.

use super::command::write_command;
use super::fault::malformed;
use crate::keyed::{KEY_DIGITS, Keyed, VALUE_LIMIT, filler, fixed_reply, key_zero};
use crate::lines::{LINE_LIMIT, error_words};
use crate::{Codec, Draws, Renewal, Reply, WireError};

pub(super) const READ_REPLY: &str = "read the reply to a measured command";

/// Highest number of characters in a length. The longest length that looptax accepts has eight digits, and a nil has a
/// sign.
const LENGTH_CHARS: usize = 20;

/// Makes the template of the command `name`. After its name, the command has a key (`prefix` and digits) and the parts
/// in `rest`.
pub(super) fn template(name: &[u8], prefix: &str, rest: &[&[u8]]) -> Keyed {
    let key = key_zero(prefix);
    let mut parts = vec![name, key.as_bytes()];
    let mut bytes = Vec::new();
    write_command(&mut bytes, &parts);
    let digits_at = bytes.len() - "\r\n".len() - KEY_DIGITS;
    // The command begins with its number of parts. The parts in `rest` change this number, but it still has one digit,
    // so the key stays at its position.
    parts.extend_from_slice(rest);
    debug_assert!(parts.len() < 10, "the count has one digit");
    bytes.clear();
    write_command(&mut bytes, &parts);
    Keyed::new(bytes, digits_at)
}

/// The command `GET prefix000000000042`. The reply's data is the value, empty for nil.
#[derive(Debug, Clone)]
pub struct Get(Keyed);

impl Get {
    /// Makes the command. A key consists of `prefix` and the key's lowest twelve decimal digits.
    pub fn new(prefix: &str) -> Self {
        Self(template(b"GET", prefix, &[]))
    }
}

impl Codec for Get {
    #[inline]
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        self.0.write(draws.key(), out);
    }

    fn renewal(&self) -> Renewal {
        self.0.renewal()
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        const EXPECTED: &str = "a string or nil";
        let Some((marker, rest)) = received.split_first() else {
            return Ok(None);
        };
        if *marker != b'$' {
            return other_reply(received, EXPECTED);
        }
        let Some((stated, header_bytes)) = length_line(rest)? else {
            return Ok(None);
        };
        let value_at = 1 + header_bytes;
        let Some(value_bytes) = stated else {
            return Ok(Some(Reply { bytes: value_at, data: value_at..value_at }));
        };
        let value_end = value_at + value_bytes;
        match received.get(value_end..value_end + 2) {
            None => Ok(None),
            Some(b"\r\n") => Ok(Some(Reply { bytes: value_end + 2, data: value_at..value_end })),
            Some(other) => Err(malformed(READ_REPLY, "a line end after a string", other)),
        }
    }
}

/// The command `SET prefix000000000042 xxx…`. The reply is `OK`, without data.
#[derive(Debug, Clone)]
pub struct Set(Keyed);

impl Set {
    /// Makes the command, with keys as in [`Get::new`]. The value is the letter x, repeated `value_bytes` times. The
    /// key expires after `ttl_s` seconds, or never.
    pub fn new(prefix: &str, value_bytes: usize, ttl_s: Option<u32>) -> Self {
        let value = filler(value_bytes);
        let ttl = ttl_s.map(|ttl_s| ttl_s.to_string());
        let mut rest = vec![value.as_slice()];
        if let Some(ttl) = &ttl {
            rest.extend_from_slice(&[b"EX", ttl.as_bytes()]);
        }
        Self(template(b"SET", prefix, &rest))
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
        only(received, b"+OK\r\n", "`OK`")
    }
}

/// The command `PING`. The reply is `PONG`, without data. The key is not sent.
#[derive(Debug, Clone)]
pub struct Ping(Vec<u8>);

impl Ping {
    /// Makes the command as an array of one string, as client libraries send it.
    pub fn new() -> Self {
        let mut request = Vec::new();
        write_command(&mut request, &[b"PING"]);
        Self(request)
    }
}

impl Default for Ping {
    fn default() -> Self {
        Self::new()
    }
}

impl Codec for Ping {
    #[inline]
    fn request(&mut self, _draws: &mut dyn Draws, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn renewal(&self) -> Renewal {
        Renewal::Same
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        only(received, b"+PONG\r\n", "`PONG`")
    }
}

/// Reads a reply that can only be `wanted`, or an error.
#[inline]
fn only(received: &[u8], wanted: &[u8], expected: &'static str) -> Result<Option<Reply>, WireError> {
    fixed_reply(received, wanted, || other_reply(received, expected))
}

/// Handles bytes that are neither the expected reply nor its beginning: they are an error from the server, or not a
/// reply at all.
#[cold]
pub(super) fn other_reply(received: &[u8], expected: &'static str) -> Result<Option<Reply>, WireError> {
    let Some(text) = received.strip_prefix(b"-") else {
        return Err(malformed(READ_REPLY, expected, received));
    };
    let Some(at) = text.windows(2).position(|pair| pair == b"\r\n") else {
        if text.len() > LINE_LIMIT {
            return Err(malformed(READ_REPLY, "a line of at most 64 KiB", received));
        }
        return Ok(None);
    };
    let (code, message) = error_words(&text[..at]);
    Err(WireError::Server { code, message })
}

/// Returns the number of characters in the short line at the start of `text`, without its end; `None` if the line is
/// not complete.
#[inline]
pub(super) fn length_chars(text: &[u8], expected: &'static str) -> Result<Option<usize>, WireError> {
    let front = &text[..text.len().min(LENGTH_CHARS)];
    let Some(n_chars) = front.iter().position(|&byte| byte == b'\r') else {
        return if front.len() == LENGTH_CHARS { Err(malformed(READ_REPLY, expected, front)) } else { Ok(None) };
    };
    match text.get(n_chars + 1) {
        None => Ok(None),
        Some(b'\n') => Ok(Some(n_chars)),
        Some(_) => Err(malformed(READ_REPLY, expected, front)),
    }
}

/// Parses a length and its line end at the start of `text`. Returns the length, which is `None` for nil, and the number
/// of bytes of length and line end together. Returns `None` instead of the pair if the line is not complete.
#[inline]
pub(super) fn length_line(text: &[u8]) -> Result<Option<(Option<usize>, usize)>, WireError> {
    const EXPECTED: &str = "the length of a string";
    let Some(n_chars) = length_chars(text, EXPECTED)? else {
        return Ok(None);
    };
    let front = &text[..n_chars];
    let line_bytes = n_chars + 2;
    if *front == *b"-1" {
        return Ok(Some((None, line_bytes)));
    }
    let mut stated: u64 = 0;
    for &digit in front {
        if !digit.is_ascii_digit() {
            return Err(malformed(READ_REPLY, EXPECTED, front));
        }
        // The text has at most 19 digits, so the number fits into 64 bits.
        stated = stated * 10 + u64::from(digit - b'0');
    }
    if n_chars == 0 {
        return Err(malformed(READ_REPLY, EXPECTED, front));
    }
    if stated > VALUE_LIMIT {
        return Err(WireError::TooLong { action: READ_REPLY, stated, limit: VALUE_LIMIT });
    }
    Ok(Some((Some(stated as usize), line_bytes)))
}
