//! A dump: a whole table as one answer to `COPY … TO STDOUT`. Rows are counted and dropped, as `pg_dump` reads them.
//!
//! Runs in the measured loop: messages are skipped with the help of their headers, and their bytes are dropped
//! immediately.

use super::frames::{HEADER_BYTES, MESSAGE_LIMIT, PROTOCOL, body_bytes, malformed};
use super::replies::refusal;
use crate::codec::STREAM_ROOM_BYTES;
use crate::{Codec, Draws, Reply, WireError, codec};

const READ_COPY: &str = "read a table's rows";

/// The statement and its answers.
///
/// # Source
/// PostgreSQL documentation, "COPY Operations": `CopyOutResponse`, `CopyData` per row, `CopyDone`.
#[derive(Debug)]
pub struct TableCopy {
    request: Vec<u8>,
    n_rows: u64,
    /// The number of rows that the command tag reports, once the tag has arrived.
    n_copied: Option<u64>,
    n_passed: usize,
}

impl TableCopy {
    /// Makes the codec for dumps of `table`, which has `n_rows` rows.
    pub(super) fn new(table: &str, n_rows: u64) -> Self {
        let sql = format!("COPY {table} TO STDOUT");
        let length = sql.len() as u32 + 5;
        let request = [b"Q", &length.to_be_bytes()[..], sql.as_bytes(), b"\0"].concat();
        Self { request, n_rows, n_copied: None, n_passed: 0 }
    }

    /// Processes one complete message; returns true if it was the last message of its answer.
    fn take(&mut self, tag: u8, message: &[u8]) -> Result<bool, WireError> {
        match tag {
            // Rows, the messages around them, and messages that may arrive at any time.
            b'd' | b'H' | b'c' | b'N' | b'S' | b'A' => Ok(false),
            b'C' => {
                self.n_copied = copied(&message[HEADER_BYTES..]);
                Ok(false)
            }
            b'Z' => {
                let n_copied = self.n_copied.take();
                let n_copied = n_copied.ok_or_else(|| malformed(READ_COPY, "a number of rows", message))?;
                codec::check_rows(PROTOCOL, n_copied, self.n_rows)?;
                Ok(true)
            }
            b'E' => Err(refusal(message)),
            _ => Err(malformed(READ_COPY, "a copy of a table", message)),
        }
    }
}

impl Codec for TableCopy {
    fn request(&mut self, _draws: &mut dyn Draws, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.request);
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let mut at = 0;
        while let Some(header) = received[at..].first_chunk::<HEADER_BYTES>() {
            let end = at + HEADER_BYTES + body_bytes(*header, MESSAGE_LIMIT, READ_COPY)?;
            let Some(message) = received.get(at..end) else {
                break;
            };
            at = end;
            if self.take(header[0], message)? {
                self.n_passed = 0;
                return Ok(Some(Reply { bytes: at, data: 0..0 }));
            }
        }
        self.n_passed = at;
        Ok(None)
    }

    fn n_passed(&self) -> usize {
        self.n_passed
    }

    fn room_bytes(&self) -> usize {
        STREAM_ROOM_BYTES
    }
}

/// Returns the number in a command tag such as `COPY 1000`.
fn copied(tag: &[u8]) -> Option<u64> {
    let digits = tag.strip_prefix(b"COPY ")?.strip_suffix(b"\0")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn answer(n_rows: usize, tag: &[u8]) -> Vec<u8> {
        let mut bytes = message(b'H', &[0, 0, 1, 0, 0]);
        for _ in 0..n_rows {
            bytes.extend(message(b'd', b"1\tx\n"));
        }
        bytes.extend(message(b'c', b""));
        bytes.extend(message(b'C', tag));
        bytes.extend(message(b'Z', b"I"));
        bytes
    }

    fn fed(copy: &mut TableCopy, bytes: &[u8], piece: usize) -> Result<(), WireError> {
        let mut buffer = Vec::new();
        for part in bytes.chunks(piece) {
            buffer.extend_from_slice(part);
            assert!(buffer.len() < 20 + piece, "{} bytes are kept", buffer.len());
            if let Some(reply) = copy.reply(&buffer)? {
                assert_eq!(reply.bytes, buffer.len());
                return Ok(());
            }
            buffer.drain(..copy.n_passed());
        }
        panic!("the answer has no end");
    }

    #[test]
    fn rows_are_counted_by_the_command_s_tag() {
        let mut copy = TableCopy::new("t", 30);
        for piece in [1, 4, 6, 11, 1_000] {
            fed(&mut copy, &answer(30, b"COPY 30\0"), piece).unwrap();
        }
        let error = fed(&mut copy, &answer(30, b"COPY 29\0"), 9).unwrap_err();
        assert!(error.to_string().contains("29 rows instead of 30"), "{error}");
    }

    #[test]
    fn the_request_is_one_statement() {
        let mut out = Vec::new();
        TableCopy::new("t", 1).request(&mut 1_u64, &mut out);
        assert_eq!(out, b"Q\0\0\0\x15COPY t TO STDOUT\0");
    }
}
