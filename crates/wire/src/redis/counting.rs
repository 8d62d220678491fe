//! The measured commands whose reply is a number: INCR and LPUSH.
//!
//! Runs in the measured loop, like `workload.rs`.

use super::workload::{length_chars, other_reply, template};
use crate::keyed::{Keyed, filler};
use crate::{Codec, Draws, Renewal, Reply, WireError};

/// A command whose reply is an integer. The integer is the reply's data.
#[derive(Debug, Clone)]
pub struct Counting(Keyed);

impl Counting {
    /// Makes `INCR prefix000000000042`. For the key, see [`super::Get::new`].
    pub fn incr(prefix: &str) -> Self {
        Self(template(b"INCR", prefix, &[]))
    }

    /// Makes `LPUSH prefix000000000042 xxx…`, with an element of `value_bytes` bytes.
    pub fn lpush(prefix: &str, value_bytes: usize) -> Self {
        let value = filler(value_bytes);
        Self(template(b"LPUSH", prefix, &[&value]))
    }
}

impl Codec for Counting {
    #[inline]
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        self.0.write(draws.key(), out);
    }

    fn renewal(&self) -> Renewal {
        self.0.renewal()
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        const EXPECTED: &str = "a number";
        let Some((marker, rest)) = received.split_first() else {
            return Ok(None);
        };
        if *marker != b':' {
            return other_reply(received, EXPECTED);
        }
        let Some(n_chars) = length_chars(rest, EXPECTED)? else {
            return Ok(None);
        };
        let end = 1 + n_chars;
        Ok(Some(Reply { bytes: end + 2, data: 1..end }))
    }
}
