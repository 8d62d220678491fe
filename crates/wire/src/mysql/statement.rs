//! One statement of a transaction: prepared, or sent as text if the server (or the user) requires it.
//!
//! Runs in the measured loop, like `prepared.rs`: messages are written into a buffer that keeps its capacity.
//! `prepare.rs` makes the prepared statements; `transaction.rs` calls both kinds.

use std::io::Write as _;

use crate::mysql::handshake::Dialect;
use crate::mysql::packet::{HEADER_BYTES, MAX_PAYLOAD_BYTES, header};
use crate::mysql::replies::{Form, Layout, Replies};
use crate::transaction::{Answer, Bound, Pieces, Statement, Values};
use crate::{WireError, transaction};

const COM_QUERY: u8 = 0x03;
const COM_STMT_EXECUTE: u8 = 0x17;

/// Types with which values are bound: a signed BIGINT, a VARCHAR, NULL.
const LONGLONG: [u8; 2] = [0x08, 0x00];
const VAR_STRING: [u8; 2] = [0xfd, 0x00];
const NULL: [u8; 2] = [0x06, 0x00];

/// A statement in the form in which a transaction runs it.
#[derive(Debug)]
pub enum AnyStatement {
    /// A prepared statement, with the id that the server assigned.
    Prepared(PreparedStatement),
    Text(TextStatement),
}

impl Statement for AnyStatement {
    #[inline]
    fn write(&mut self, values: &Values, out: &mut Vec<u8>) {
        match self {
            Self::Prepared(it) => it.write(values, out),
            Self::Text(it) => it.write(values, out),
        }
    }

    #[inline]
    fn answer(&mut self, received: &[u8]) -> Result<Option<Answer>, WireError> {
        match self {
            Self::Prepared(it) => it.replies.advance(received),
            Self::Text(it) => it.replies.advance(received),
        }
    }
}

/// A statement prepared on one connection.
///
/// # Source
/// dev.mysql.com/doc/dev/mysql-server: `page_protocol_com_stmt_execute`.
#[derive(Debug)]
pub struct PreparedStatement {
    id: u32,
    n_params: usize,
    /// The types that the server knows from the last execution of the statement.
    types: Vec<u8>,
    replies: Replies,
}

impl PreparedStatement {
    pub(super) fn new(dialect: Dialect, id: u32, n_params: u16, first_column: Option<Layout>) -> Self {
        Self {
            id,
            n_params: usize::from(n_params),
            types: Vec::with_capacity(2 * usize::from(n_params)),
            replies: Replies::new(dialect, Form::Binary, first_column),
        }
    }

    fn write(&mut self, values: &Values, out: &mut Vec<u8>) {
        const NO_CURSOR: u8 = 0;
        const ONE_ITERATION: [u8; 4] = 1_u32.to_le_bytes();
        let start = begin(out);
        out.push(COM_STMT_EXECUTE);
        out.extend_from_slice(&self.id.to_le_bytes());
        out.push(NO_CURSOR);
        out.extend_from_slice(&ONE_ITERATION);
        if self.n_params > 0 {
            let nulls_at = out.len();
            out.resize(nulls_at + self.n_params.div_ceil(8), 0);
            for (idx, _) in values.iter().enumerate().filter(|(_, it)| *it == Bound::Null) {
                out[nulls_at + idx / 8] |= 1 << (idx % 8);
            }
            self.write_types(values, out);
            for value in values.iter() {
                write_binary(value, out);
            }
        }
        end(start, out);
    }

    /// Writes the types only if the server does not know them yet. The C libraries do the same.
    fn write_types(&mut self, values: &Values, out: &mut Vec<u8>) {
        let types = || values.iter().flat_map(type_of);
        if self.types.iter().copied().eq(types()) {
            out.push(0);
            return;
        }
        self.types.clear();
        self.types.extend(types());
        out.push(1);
        out.extend_from_slice(&self.types);
    }
}

fn type_of(value: Bound<'_>) -> [u8; 2] {
    match value {
        Bound::Number(_) => LONGLONG,
        Bound::Text(_) | Bound::Sql(_) => VAR_STRING,
        Bound::Null => NULL,
    }
}

fn write_binary(value: Bound<'_>, out: &mut Vec<u8>) {
    match value {
        Bound::Number(number) => out.extend_from_slice(&number.to_le_bytes()),
        Bound::Text(text) | Bound::Sql(text) => {
            // Workloads bind a few hundred bytes at most, so lengths of up to three bytes are enough.
            match text.len() {
                short @ 0..=250 => out.push(short as u8),
                long => {
                    out.push(0xfd);
                    out.extend_from_slice(&(long as u32).to_le_bytes()[..3]);
                }
            }
            out.extend_from_slice(text);
        }
        Bound::Null => {}
    }
}

/// A statement that is sent as text, with its values written into the text.
#[derive(Debug)]
pub struct TextStatement {
    pieces: Pieces,
    replies: Replies,
}

impl TextStatement {
    /// Makes a statement from `sql`, which contains `?` for each value.
    pub(super) fn new(dialect: Dialect, sql: &str) -> Self {
        Self { pieces: Pieces::split(sql), replies: Replies::new(dialect, Form::Text, None) }
    }

    fn write(&mut self, values: &Values, out: &mut Vec<u8>) {
        let start = begin(out);
        out.push(COM_QUERY);
        self.pieces.write(values, out, |value, out| match value {
            Bound::Number(number) => {
                // Writing to a vector cannot fail.
                let _ = write!(out, "{number}");
            }
            Bound::Text(text) => transaction::quote(text, transaction::Escapes::Backslash, out),
            Bound::Sql(sql) => out.extend_from_slice(sql),
            Bound::Null => out.extend_from_slice(b"NULL"),
        });
        end(start, out);
    }
}

/// Writes a statement without values.
pub(super) fn write_query(sql: &[u8], out: &mut Vec<u8>) {
    let start = begin(out);
    out.push(COM_QUERY);
    out.extend_from_slice(sql);
    end(start, out);
}

/// Reserves space for a packet's header, and returns its position.
fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.resize(start + HEADER_BYTES, 0);
    start
}

/// Writes the header of the packet that began at `start`.
fn end(start: usize, out: &mut [u8]) {
    let n_bytes = out.len() - start - HEADER_BYTES;
    debug_assert!(n_bytes <= MAX_PAYLOAD_BYTES, "statements are far smaller");
    out[start..start + HEADER_BYTES].copy_from_slice(&header(n_bytes, 0));
}
