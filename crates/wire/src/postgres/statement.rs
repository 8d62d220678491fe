//! One statement of a transaction: prepared (Bind, Describe, Execute, Sync in one send) or sent as text.
//!
//! Runs in the measured loop, like `prepared.rs`: messages are written into a buffer that keeps its capacity. Called by
//! `transaction.rs`; `Connection::prepare_transaction` makes the statements.

use std::io::Write as _;

use super::prepared::{INT4_OID, INT8_OID};
use super::replies;
use crate::WireError;
use crate::transaction::{Answer, Bound, Escapes, Pieces, Statement, Values, quote};

/// A statement in the form in which a transaction runs it.
#[derive(Debug)]
pub enum AnyStatement {
    Prepared(PreparedStatement),
    Text(Pieces),
}

impl Statement for AnyStatement {
    #[inline]
    fn write(&mut self, values: &Values, out: &mut Vec<u8>) {
        match self {
            Self::Prepared(it) => it.write(values, out),
            Self::Text(pieces) => write_text(pieces, values, out),
        }
    }

    #[inline]
    fn answer(&mut self, received: &[u8]) -> Result<Option<Answer>, WireError> {
        replies::answer(received)
    }
}

/// A statement prepared under a name.
///
/// # Source
/// PostgreSQL documentation, "Message Formats": Bind, Describe, Execute, Sync.
#[derive(Debug)]
pub struct PreparedStatement {
    name: Vec<u8>,
    /// Object ids of the parameters' types.
    parameters: Vec<u32>,
}

impl PreparedStatement {
    pub(super) fn new(name: &str, parameters: Vec<u32>) -> Self {
        Self { name: name.as_bytes().to_vec(), parameters }
    }

    fn write(&mut self, values: &Values, out: &mut Vec<u8>) {
        const ONE_RESULT_FORMAT_TEXT: [u8; 4] = [0, 1, 0, 0];
        let start = begin(b'B', out);
        out.push(0); // the unnamed portal
        out.extend_from_slice(&self.name);
        out.push(0);
        self.write_formats(values, out);
        write_count(self.parameters.len(), out);
        for (value, oid) in values.iter().zip(&self.parameters) {
            write_value(value, *oid, out);
        }
        out.extend_from_slice(&ONE_RESULT_FORMAT_TEXT);
        end(start, out);
        // Describe for the unnamed portal, Execute without a row limit, Sync.
        out.extend_from_slice(b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04");
    }

    fn write_formats(&self, values: &Values, out: &mut Vec<u8>) {
        write_count(self.parameters.len(), out);
        for (value, oid) in values.iter().zip(&self.parameters) {
            let is_binary = matches!((value, *oid), (Bound::Number(_), INT4_OID | INT8_OID));
            out.extend_from_slice(&u16::from(is_binary).to_be_bytes());
        }
    }
}

fn write_count(n: usize, out: &mut Vec<u8>) {
    // The number fits into 16 bits: the protocol itself counts placeholders in 16 bits, and the server has counted
    // these placeholders.
    out.extend_from_slice(&(n as u16).to_be_bytes());
}

fn write_value(value: Bound<'_>, oid: u32, out: &mut Vec<u8>) {
    const NULL: [u8; 4] = (-1_i32).to_be_bytes();
    match (value, oid) {
        (Bound::Null, _) => out.extend_from_slice(&NULL),
        (Bound::Number(number), INT4_OID) => {
            out.extend_from_slice(&4_u32.to_be_bytes());
            out.extend_from_slice(&(number as i32).to_be_bytes());
        }
        (Bound::Number(number), INT8_OID) => {
            out.extend_from_slice(&8_u32.to_be_bytes());
            out.extend_from_slice(&number.to_be_bytes());
        }
        (Bound::Number(number), _) => with_length(out, |out| {
            // Writing to a vector cannot fail.
            let _ = write!(out, "{number}");
        }),
        (Bound::Text(text) | Bound::Sql(text), _) => {
            with_length(out, |out| out.extend_from_slice(text));
        }
    }
}

/// Writes a length of four bytes, and then the bytes that `write` appends.
fn with_length(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let n_bytes = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&n_bytes.to_be_bytes());
}

fn write_text(pieces: &Pieces, values: &Values, out: &mut Vec<u8>) {
    let start = begin(b'Q', out);
    pieces.write(values, out, |value, out| match value {
        Bound::Number(number) => {
            // Writing to a vector cannot fail.
            let _ = write!(out, "{number}");
        }
        Bound::Text(text) => quote(text, Escapes::Quote, out),
        Bound::Sql(sql) => out.extend_from_slice(sql),
        Bound::Null => out.extend_from_slice(b"NULL"),
    });
    out.push(0);
    end(start, out);
}

/// Starts a message, and returns the position of its length.
fn begin(tag: u8, out: &mut Vec<u8>) -> usize {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    start
}

/// Writes the length field, at `start`, of the message that ends here.
fn end(start: usize, out: &mut [u8]) {
    let n_bytes = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&n_bytes.to_be_bytes());
}

/// Replaces each `?` in `sql` by `$1`, `$2` …
pub(super) fn numbered(sql: &str) -> String {
    let mut pieces = sql.split('?');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.zip(1..).fold(first, |text, (piece, idx)| format!("{text}${idx}{piece}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_in_order() {
        assert_eq!(numbered("UPDATE t SET c=? WHERE id=?"), "UPDATE t SET c=$1 WHERE id=$2");
        assert_eq!(numbered("BEGIN"), "BEGIN");
    }
}
