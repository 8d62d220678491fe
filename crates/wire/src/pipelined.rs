//! Several requests in one send: a request is then the whole batch.

use crate::{Codec, Draws, Reply, WireError};

/// Sends `n` requests of another codec at once and waits for all their replies.
#[derive(Debug)]
pub struct Pipelined<C> {
    inner: C,
    n: usize,
    n_answered: usize,
    /// Where the next reply starts.
    at: usize,
}

impl<C: Codec> Pipelined<C> {
    /// `n` requests of `inner` per batch; one at least. Each must be answered by one reply.
    pub fn new(inner: C, n: usize) -> Self {
        Self {
            inner,
            n: n.max(1),
            n_answered: 0,
            at: 0,
        }
    }
}

impl<C: Codec> Codec for Pipelined<C> {
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        for _ in 0..self.n {
            self.inner.request(draws, out);
        }
    }

    /// The data are those of all replies with what stands between them, for only their bounds are
    /// known without copying.
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        while self.n_answered < self.n {
            let rest = received.get(self.at..).unwrap_or_default();
            let Some(reply) = self.inner.reply(rest)? else {
                return Ok(None);
            };
            self.at += reply.bytes;
            self.n_answered += 1;
        }
        let bytes = std::mem::take(&mut self.at);
        self.n_answered = 0;
        Ok(Some(Reply {
            bytes,
            data: 0..bytes,
        }))
    }
}
