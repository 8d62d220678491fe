//! Several requests in one send. The whole batch counts as one request.

use crate::{Codec, Draws, Reply, WireError};

/// Sends `n` requests of another codec together, and waits for all their replies.
#[derive(Debug)]
pub struct Pipelined<C> {
    inner: C,
    n: usize,
    n_answered: usize,
    /// Lowest number of data bytes that each reply must hold.
    least_data_bytes: usize,
    /// The position at which the next reply starts.
    at: usize,
}

impl<C: Codec> Pipelined<C> {
    /// Makes batches of `n` requests of `inner`; if `n` is 0, of one request. Each request must be answered by one
    /// reply with at least `least_data_bytes` bytes of data. This file checks that, because the caller sees only the
    /// reply of the whole batch.
    pub fn new(inner: C, n: usize, least_data_bytes: usize) -> Self {
        Self { inner, n: n.max(1), n_answered: 0, least_data_bytes, at: 0 }
    }
}

impl<C: Codec> Codec for Pipelined<C> {
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        for _ in 0..self.n {
            self.inner.request(draws, out);
        }
    }

    /// Returns as data everything from the first reply's data to the last reply's data, because the data of the replies
    /// cannot be joined without copying.
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        while self.n_answered < self.n {
            let rest = received.get(self.at..).unwrap_or_default();
            let Some(reply) = self.inner.reply(rest)? else {
                return Ok(None);
            };
            if reply.data.len() < self.least_data_bytes {
                return Err(missing(self.least_data_bytes, reply.data.len()));
            }
            self.at += reply.bytes;
            self.n_answered += 1;
        }
        let bytes = std::mem::take(&mut self.at);
        self.n_answered = 0;
        Ok(Some(Reply { bytes, data: 0..bytes }))
    }
}

#[cold]
fn missing(least: usize, found: usize) -> WireError {
    WireError::Unexpected {
        statement: "a pipelined request".to_owned(),
        what: "bytes of data at least",
        expected: least as u64,
        found: found as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::Get;

    const REPLIES: &[u8] = b"$1\r\na\r\n$2\r\nbc\r\n";

    #[test]
    fn all_requests_go_out_at_once() {
        let mut out = Vec::new();
        Pipelined::new(Get::new("k"), 3, 1).request(&mut 7, &mut out);
        assert_eq!(String::from_utf8(out).unwrap().matches("GET").count(), 3);
    }

    #[test]
    fn a_batch_is_answered_when_its_last_reply_is_in_however_it_comes() {
        for cut in 0..REPLIES.len() {
            let mut pipelined = Pipelined::new(Get::new("k"), 2, 1);
            assert_eq!(pipelined.reply(&REPLIES[..cut]).unwrap(), None, "{cut}");
            let reply = pipelined.reply(REPLIES).unwrap().unwrap();
            assert_eq!(reply.bytes, REPLIES.len(), "{cut}");
            // The codec can read the same batch again from its start.
            assert!(pipelined.reply(REPLIES).unwrap().is_some());
        }
    }

    #[test]
    fn a_missing_key_among_others_is_an_error() {
        let mut pipelined = Pipelined::new(Get::new("k"), 2, 1);
        let error = pipelined.reply(b"$1\r\na\r\n$-1\r\n").unwrap_err();
        assert!(error.to_string().contains("bytes of data"), "{error}");
    }
}
