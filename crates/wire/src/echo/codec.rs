//! Requests and replies of the echo protocol, for the measured loop.

use std::collections::VecDeque;

use super::fault::malformed;
use crate::{Codec, Draws, Reply, WireError};

pub(super) const KEY_BYTES: usize = 8;
pub(super) const READ_REPLY: &str = "read the echo of a request";

/// Number of requests in flight for which a codec reserves memory at the start. If more requests are in flight, the
/// codec allocates.
const IN_FLIGHT: usize = 1024;
/// The byte that fills a request after its key.
const FILLER: u8 = b'x';

/// Writes requests and recognises replies of one connection. The codec remembers the keys in flight, so each connection
/// needs its own codec.
///
/// The data of a reply is the key that the server sent back; the filler is not checked.
#[derive(Debug, Clone)]
pub struct EchoCodec {
    template: Vec<u8>,
    reply_bytes: usize,
    stream_bytes: Option<u64>,
    in_flight: VecDeque<u64>,
}

impl EchoCodec {
    /// Returns a codec for messages of these sizes; sizes below 8 bytes count as 8.
    pub fn ping_pong(request_bytes: u32, reply_bytes: u32) -> Self {
        Self {
            template: vec![FILLER; at_least_a_key(request_bytes)],
            reply_bytes: at_least_a_key(reply_bytes),
            stream_bytes: None,
            in_flight: VecDeque::with_capacity(IN_FLIGHT),
        }
    }

    /// Returns a codec for streams of `bytes` bytes in writes of `write_bytes` bytes; the last write may be shorter.
    /// Sizes below 8 bytes count as 8.
    pub fn stream(bytes: u64, write_bytes: u32) -> Self {
        let stream_bytes = bytes.max(KEY_BYTES as u64);
        Self { stream_bytes: Some(stream_bytes), ..Self::ping_pong(write_bytes, 0) }
    }
}

fn at_least_a_key(bytes: u32) -> usize {
    (bytes as usize).max(KEY_BYTES)
}

impl Codec for EchoCodec {
    #[inline]
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        let key = draws.key();
        self.template[..KEY_BYTES].copy_from_slice(&key.to_le_bytes());
        out.extend_from_slice(&self.template);
        self.in_flight.push_back(key);
    }

    #[inline]
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let Some(found) = received.first_chunk::<KEY_BYTES>() else {
            return Ok(None);
        };
        if self.in_flight.front() != Some(&u64::from_le_bytes(*found)) {
            let expected = "the key of the oldest open request";
            return Err(malformed(READ_REPLY, expected, found));
        }
        if received.len() < self.reply_bytes {
            return Ok(None);
        }
        self.in_flight.pop_front();
        Ok(Some(Reply { bytes: self.reply_bytes, data: 0..KEY_BYTES }))
    }

    fn stream_bytes(&self) -> Option<u64> {
        self.stream_bytes
    }
}
