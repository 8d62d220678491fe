//! A dump: a whole table as one answer to `SELECT *` in the text protocol. Rows are counted and dropped, as `mysqldump
//! --quick` reads them.
//!
//! Runs in the measured loop: rows are skipped with the help of their packets' headers and dropped immediately, so the
//! receive buffer never holds more than the current row.

use crate::codec::STREAM_ROOM_BYTES;
use crate::mysql::handshake::Dialect;
use crate::mysql::replies::{Form, Replies};
use crate::mysql::statement::write_query;
use crate::{Codec, Draws, Reply, WireError, codec};

#[derive(Debug)]
pub struct TableDump {
    sql: String,
    n_rows: u64,
    replies: Replies,
    n_passed: usize,
}

impl TableDump {
    /// Makes the codec for dumps of `table`, which holds `n_rows` rows.
    pub(super) fn new(dialect: Dialect, table: &str, n_rows: u64) -> Self {
        Self {
            sql: format!("SELECT * FROM {table}"),
            n_rows,
            replies: Replies::new(dialect, Form::Text, None),
            n_passed: 0,
        }
    }
}

impl Codec for TableDump {
    fn request(&mut self, _draws: &mut dyn Draws, out: &mut Vec<u8>) {
        write_query(self.sql.as_bytes(), out);
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let passed = self.replies.pass(received)?;
        self.n_passed = passed.bytes;
        let Some(n_rows) = passed.n_rows else {
            return Ok(None);
        };
        codec::check_rows("MySQL", n_rows, self.n_rows)?;
        Ok(Some(Reply { bytes: passed.bytes, data: 0..0 }))
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

    fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
        bytes.push(sequence);
        bytes.extend_from_slice(payload);
        bytes
    }

    /// Makes an answer: one column, its definition, and `n_rows` rows of one letter.
    fn answer(n_rows: u8) -> Vec<u8> {
        let mut bytes = packet(1, &[1]);
        bytes.extend(packet(2, b"a definition"));
        bytes.extend(packet(3, &[0xfe, 0, 0, 2, 0]));
        for row in 0..n_rows {
            bytes.extend(packet(4 + row, b"\x01x"));
        }
        bytes.extend(packet(4 + n_rows, &[0xfe, 0, 0, 2, 0]));
        bytes
    }

    /// Feeds an answer in pieces to a buffer that drops the finished bytes; returns the highest number of bytes that
    /// the buffer held.
    fn fed(dump: &mut TableDump, bytes: &[u8], piece: usize) -> Result<usize, WireError> {
        let (mut buffer, mut most) = (Vec::new(), 0);
        for part in bytes.chunks(piece) {
            buffer.extend_from_slice(part);
            most = most.max(buffer.len());
            if let Some(reply) = dump.reply(&buffer)? {
                assert_eq!(reply.bytes, buffer.len());
                return Ok(most);
            }
            buffer.drain(..dump.n_passed());
        }
        panic!("the answer has no end");
    }

    #[test]
    fn rows_are_counted_and_dropped_whatever_the_pieces_are() {
        let mut dump = TableDump::new(Dialect::default(), "t", 40);
        for piece in [1, 2, 3, 7, 1_000] {
            let most = fed(&mut dump, &answer(40), piece).unwrap();
            assert!(piece == 1_000 || most < 40, "{most} of pieces of {piece}");
        }
    }

    #[test]
    fn a_row_too_few_is_an_error() {
        let mut dump = TableDump::new(Dialect::default(), "t", 41);
        let error = fed(&mut dump, &answer(40), 16).unwrap_err();
        assert!(error.to_string().contains("40 rows instead of 41"), "{error}");
    }

    #[test]
    fn a_missing_table_is_the_server_s_error() {
        let mut dump = TableDump::new(Dialect::default(), "t", 1);
        let refusal = packet(1, b"\xff\x7a\x04#42S02no such table");
        let error = fed(&mut dump, &refusal, 5).unwrap_err();
        assert!(matches!(&error, WireError::Server { code, .. } if code == "1146"), "{error}");
    }
}
