//! A peer in memory that sends recorded answers: it needs no thread and no socket, and never waits.
//!
//! The peer does not check the requests, so it can only be used if the answers are fixed. A server that computes its
//! answer (SCRAM) needs a thread at the other end of a socket pair. Used by the protocol tests.

use std::io::{self, Read, Write};

/// The behaviour of the peer after the last recorded byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Closed,
    /// The peer sends nothing more: a read returns `WouldBlock`, like a socket with a time limit.
    Silent,
}

/// The client's end of a recorded connection.
#[derive(Debug)]
pub struct Replay {
    answers: Vec<u8>,
    n_read: usize,
    piece_bytes: usize,
    /// Answers from this position on are not split into pieces.
    whole_from: usize,
    end: End,
    sent: Vec<u8>,
}

impl Replay {
    /// Makes a peer that sends `answers`, and then behaves as `end` describes.
    pub fn new(answers: impl Into<Vec<u8>>, end: End) -> Self {
        let answers = answers.into();
        Self { whole_from: answers.len(), answers, n_read: 0, piece_bytes: usize::MAX, end, sent: Vec::new() }
    }

    /// Makes the answers arrive in pieces of `piece_bytes` bytes (at least 1).
    #[must_use]
    pub fn in_pieces(mut self, piece_bytes: usize) -> Self {
        self.piece_bytes = piece_bytes.max(1);
        self
    }

    /// Adds `answers`, which arrive after the earlier answers, as one separate piece.
    #[must_use]
    pub fn then(mut self, answers: &[u8]) -> Self {
        self.answers.extend_from_slice(answers);
        self
    }

    /// Returns the bytes that the client has written so far.
    pub fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// Returns the recorded bytes that the client has not read yet.
    pub fn unread(&self) -> &[u8] {
        &self.answers[self.n_read..]
    }
}

impl Read for Replay {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = &self.answers[self.n_read..];
        if left.is_empty() && !buf.is_empty() {
            return match self.end {
                End::Closed => Ok(0),
                End::Silent => Err(io::ErrorKind::WouldBlock.into()),
            };
        }
        let piece_bytes = match self.whole_from.saturating_sub(self.n_read) {
            0 => left.len(),
            before => before.min(self.piece_bytes),
        };
        let n_bytes = piece_bytes.min(buf.len());
        buf[..n_bytes].copy_from_slice(&left[..n_bytes]);
        self.n_read += n_bytes;
        Ok(n_bytes)
    }
}

impl Write for Replay {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.sent.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(end: End, wanted: Result<usize, io::ErrorKind>) {
        let mut peer = Replay::new(*b"abcde", end).in_pieces(2);
        peer.write_all(b"question").expect("writing to memory");
        let mut found = [0; 5];
        peer.read_exact(&mut found).expect("five bytes are recorded");
        assert_eq!((&found, peer.sent()), (b"abcde", b"question".as_slice()));
        let after = peer.read(&mut found).map_err(|fault| fault.kind());
        assert_eq!(after, wanted);
    }

    #[test]
    fn ends_as_it_was_told() {
        check(End::Closed, Ok(0));
        check(End::Silent, Err(io::ErrorKind::WouldBlock));
    }
}
