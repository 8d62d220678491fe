//! The facts of an answer, and the buffers for reading answers.

use std::time::Duration;

use crate::WireError;

/// Highest number of bytes in an answer's head: several times the limit that web servers set for the heads of requests.
pub(super) const HEAD_BYTES: usize = 64 << 10;
/// Number of body bytes that are processed at a time.
const PIECE_BYTES: usize = 64 << 10;
/// Default for the highest number of bytes in a body.
const BODY_LIMIT: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Length of the body, without the headers of chunks.
    pub body_bytes: u64,
    /// CRC-32 of the body.
    pub checksum: u32,
    /// Whether the connection may carry another request.
    pub keeps_alive: bool,
}

/// The limits of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Highest number of bytes in a body.
    pub body_bytes: u64,
    /// Number of body bytes that are kept for [`Buffers::body`].
    pub kept_bytes: usize,
    /// The stream's own time limit, for error messages; the stream enforces it.
    pub time: Duration,
}

impl Limits {
    /// Returns limits for bodies of up to 64 MiB, of which nothing is kept.
    pub fn new(time: Duration) -> Self {
        Self { body_bytes: BODY_LIMIT, kept_bytes: 0, time }
    }
}

/// Buffers that are reused for each answer.
#[derive(Debug)]
pub struct Buffers {
    pub(super) limits: Limits,
    pub(super) input: Input,
    pub(super) piece: Vec<u8>,
    kept: Vec<u8>,
    checksum: crc32fast::Hasher,
    n_bytes: u64,
}

impl Buffers {
    /// Allocates all buffers at their full size.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            input: Input { bytes: vec![0; HEAD_BYTES], n_used: 0, n_held: 0 },
            piece: vec![0; PIECE_BYTES],
            kept: Vec::new(),
            checksum: crc32fast::Hasher::new(),
            n_bytes: 0,
        }
    }

    /// Returns the beginning of the last answer's body. The limits determine how many bytes of a body are kept. If the
    /// answer was cut off, returns the part that arrived.
    pub fn body(&self) -> &[u8] {
        &self.kept
    }

    /// Removes the last answer from the buffers.
    pub(super) fn clear(&mut self) {
        self.input.n_used = 0;
        self.input.n_held = 0;
        self.kept.clear();
        self.checksum.reset();
        self.n_bytes = 0;
    }

    /// Adds the first `n` bytes of `piece` to the body.
    pub(super) fn take(&mut self, n: usize) -> Result<(), WireError> {
        let bytes = &self.piece[..n];
        self.n_bytes += n as u64;
        if self.n_bytes > self.limits.body_bytes {
            return Err(WireError::TooLong {
                action: "read a page",
                stated: self.n_bytes,
                limit: self.limits.body_bytes,
            });
        }
        self.checksum.update(bytes);
        let n_kept = n.min(self.limits.kept_bytes.saturating_sub(self.kept.len()));
        self.kept.extend_from_slice(&bytes[..n_kept]);
        Ok(())
    }

    /// Makes the answer after the end of its body. If the server sent more bytes than it announced, no further request
    /// may be sent on the connection.
    pub(super) fn finish(&self, status: u16, keeps_alive: bool) -> Answer {
        Answer {
            status,
            body_bytes: self.n_bytes,
            checksum: self.checksum.clone().finalize(),
            keeps_alive: keeps_alive && self.input.unused().is_empty(),
        }
    }
}

/// Bytes that were received and are not yet used.
#[derive(Debug)]
pub(super) struct Input {
    bytes: Vec<u8>,
    n_used: usize,
    n_held: usize,
}

impl Input {
    pub(super) fn unused(&self) -> &[u8] {
        &self.bytes[self.n_used..self.n_held]
    }

    pub(super) fn advance(&mut self, n: usize) {
        self.n_used += n;
    }

    /// Returns the space for more bytes, after the unused bytes; empty if the unused bytes fill the whole buffer.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.n_used > 0 {
            self.bytes.copy_within(self.n_used..self.n_held, 0);
            self.n_held -= self.n_used;
            self.n_used = 0;
        }
        &mut self.bytes[self.n_held..]
    }

    /// Records that `n` bytes were written into the space.
    pub(super) fn grow(&mut self, n: usize) {
        self.n_held += n;
    }
}
