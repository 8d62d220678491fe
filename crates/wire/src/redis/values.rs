//! A request for the values of all keys in a range: one GET for each key, one after another. Values are counted and
//! dropped.
//!
//! Runs in the measured loop: bytes of a value are skipped as they arrive, so the receive buffer never holds a whole
//! value.

use super::fault::malformed;
use super::workload::{READ_REPLY, length_line, other_reply, template};
use crate::codec::STREAM_ROOM_BYTES;
use crate::keyed::Keyed;
use crate::lines::LINE_LIMIT;
use crate::{Codec, Draws, Reply, WireError};

/// GETs of the keys 1 to n.
#[derive(Debug)]
pub struct Values {
    get: Keyed,
    n_keys: u64,
    value_bytes: usize,
    /// The key that is currently requested.
    key: u64,
    /// Number of bytes of the value that are still to come, including the line end; `None` before the length has
    /// arrived.
    n_left: Option<usize>,
    n_passed: usize,
}

impl Values {
    /// Makes the request. A key consists of `prefix` and twelve digits; each value has `value_bytes` bytes.
    pub fn new(prefix: &str, n_keys: u64, value_bytes: usize) -> Self {
        Self {
            get: template(b"GET", prefix, &[]),
            n_keys: n_keys.max(1),
            value_bytes,
            key: 0,
            n_left: None,
            n_passed: 0,
        }
    }

    /// Parses the line before a value; returns the position of the value, once the line is complete.
    fn take_length(&mut self, received: &[u8]) -> Result<Option<usize>, WireError> {
        let Some((marker, rest)) = received.split_first() else {
            return Ok(None);
        };
        if *marker != b'$' {
            // An error from the server; it is returned once its line is complete.
            return other_reply(received, "a string").map(|_| None);
        }
        let Some((stated, line_bytes)) = length_line(rest)? else {
            return Ok(None);
        };
        if stated != Some(self.value_bytes) {
            let expected = "a value of the stored size";
            return Err(malformed(READ_REPLY, expected, &received[..=line_bytes.min(LINE_LIMIT)]));
        }
        self.n_left = Some(self.value_bytes + 2);
        Ok(Some(1 + line_bytes))
    }
}

impl Codec for Values {
    fn request(&mut self, _draws: &mut dyn Draws, out: &mut Vec<u8>) {
        self.key = self.key % self.n_keys + 1;
        self.get.write(self.key, out);
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        self.n_passed = 0;
        let mut at = 0;
        if self.n_left.is_none() {
            match self.take_length(received)? {
                Some(value_at) => at = value_at,
                None => return Ok(None),
            }
        }
        let n_left = self.n_left.unwrap_or_default();
        let n_here = n_left.min(received.len() - at);
        if n_here < n_left {
            self.n_left = Some(n_left - n_here);
            self.n_passed = at + n_here;
            return Ok(None);
        }
        self.n_left = None;
        Ok(Some(Reply { bytes: at + n_here, data: 0..0 }))
    }

    fn goes_on(&self) -> bool {
        self.key < self.n_keys
    }

    fn n_passed(&self) -> usize {
        self.n_passed
    }

    fn room_bytes(&self) -> usize {
        STREAM_ROOM_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds all replies of one request in pieces; returns the number of messages that the codec sent.
    fn run(values: &mut Values, reply: &[u8], piece: usize) -> Result<usize, WireError> {
        for n_messages in 1.. {
            let mut out = Vec::new();
            values.request(&mut 1_u64, &mut out);
            assert!(out.ends_with(format!("{n_messages:012}\r\n").as_bytes()));
            let mut buffer = Vec::new();
            let mut is_whole = false;
            for part in reply.chunks(piece) {
                buffer.extend_from_slice(part);
                if let Some(found) = values.reply(&buffer)? {
                    assert_eq!(found.bytes, buffer.len());
                    is_whole = true;
                    break;
                }
                buffer.drain(..values.n_passed());
                assert!(buffer.len() < 8, "{} bytes are kept", buffer.len());
            }
            assert!(is_whole, "the value has no end");
            if !values.goes_on() {
                return Ok(n_messages);
            }
        }
        unreachable!("keys end");
    }

    #[test]
    fn every_key_is_asked_for_and_its_value_passed_over() {
        let mut values = Values::new("k:", 3, 20);
        let reply = b"$20\r\nxxxxxxxxxxxxxxxxxxxx\r\n";
        for piece in [1, 2, 5, 100] {
            assert_eq!(run(&mut values, reply, piece).unwrap(), 3);
        }
    }

    #[test]
    fn a_missing_key_another_size_and_a_refusal_are_errors() {
        let error = |reply: &[u8]| run(&mut Values::new("k:", 3, 20), reply, 100).unwrap_err();
        for reply in [&b"$-1\r\n"[..], b"$19\r\n", b":1\r\n"] {
            assert!(matches!(error(reply), WireError::Malformed { .. }));
        }
        assert!(matches!(error(b"-NOPERM no\r\n"), WireError::Server { .. }));
    }
}
