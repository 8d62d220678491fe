//! Finds the end of the answer to a statement from the message lengths, and extracts its result.
//!
//! Runs for each receive of the measured loop, without allocation (except for errors) and without I/O. Called by
//! `prepared.rs` and `statement.rs`.

use std::ops::Range;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;

use super::frames::{ANSWER_LIMIT, HEADER_BYTES, MESSAGE_LIMIT, body_bytes, malformed, server_error};
use crate::transaction::Answer;
use crate::{Reply, WireError};

const READ_REPLY: &str = "read the answer to a statement";

/// Returns the complete answer, up to `ReadyForQuery`, at the start of `received`.
pub(super) fn answer(received: &[u8]) -> Result<Option<Answer>, WireError> {
    let mut data = None;
    let mut n_changed = 0;
    let mut is_complete = false;
    let mut at = 0;
    while let Some(header) = received[at..].first_chunk::<HEADER_BYTES>() {
        let tag = header[0];
        if !is_reply_tag(tag) {
            return Err(malformed(READ_REPLY, "an answer to a statement", header));
        }
        let body_at = at + HEADER_BYTES;
        let end = body_at + body_bytes(*header, MESSAGE_LIMIT, READ_REPLY)?;
        let Some(body) = received.get(body_at..end) else {
            return pending(end);
        };
        match tag {
            b'D' if data.is_none() => {
                let column = first_column(body)?;
                data = Some(body_at + column.start..body_at + column.end);
            }
            b'C' => {
                is_complete = true;
                n_changed = changed(body);
            }
            b'I' => is_complete = true,
            b'E' => return Err(refusal(&received[at..end])),
            b'Z' if is_complete => {
                return Ok(Some(Answer {
                    has_row: data.is_some(),
                    n_changed,
                    reply: Reply { bytes: end, data: data.unwrap_or(end..end) },
                }));
            }
            b'Z' => return Err(malformed(READ_REPLY, "a completed command", header)),
            _ => {}
        }
        at = end;
    }
    pending(at)
}

/// Returns the number of rows that a command changed, from its tag: the number after `UPDATE`, `DELETE` or `INSERT 0`;
/// 0 for other commands.
#[inline]
fn changed(tag: &[u8]) -> u64 {
    let number = match tag {
        [b'U' | b'D', ..] => tag.split(|byte| *byte == b' ').nth(1),
        [b'I', b'N', ..] => tag.split(|byte| *byte == b' ').nth(2),
        _ => None,
    };
    number
        .unwrap_or_default()
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0_u64, |sum, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

/// Checks whether a message with this tag may be part of the reply (or may arrive at any time).
#[inline]
fn is_reply_tag(tag: u8) -> bool {
    matches!(tag, b'2' | b'T' | b'n' | b'D' | b'C' | b'I' | b'Z' | b'E' | b'N' | b'S' | b'A')
}

/// Returns `None`, which means that more bytes are needed. Fails if the first `known_bytes` bytes of the answer already
/// exceed the limit.
fn pending(known_bytes: usize) -> Result<Option<Answer>, WireError> {
    if known_bytes as u64 > ANSWER_LIMIT {
        return Err(WireError::TooLong { action: READ_REPLY, stated: known_bytes as u64, limit: ANSWER_LIMIT });
    }
    Ok(None)
}

/// Returns the position of the first column's value in a `DataRow`'s body; empty for NULL and if there are no columns.
///
/// # Source
/// PostgreSQL documentation, "Message Formats", `DataRow`: column count (2 bytes), then for each
/// column its length (4 bytes, -1 for NULL) and bytes.
#[inline]
fn first_column(body: &[u8]) -> Result<Range<usize>, WireError> {
    const VALUE_AT: usize = 6;
    match *body {
        [0, 0] | [_, _, 0xff, 0xff, 0xff, 0xff, ..] => Ok(0..0),
        [_, _, a, b, c, d, ref values @ ..] => {
            let value_bytes = u32::from_be_bytes([a, b, c, d]) as usize;
            if value_bytes > values.len() {
                return Err(malformed(READ_REPLY, "a column inside its row", body));
            }
            Ok(VALUE_AT..VALUE_AT + value_bytes)
        }
        _ => Err(malformed(READ_REPLY, "a row of columns", body)),
    }
}

/// Parses the server's error from a whole message.
#[cold]
pub(super) fn refusal(message: &[u8]) -> WireError {
    match Message::parse(&mut BytesMut::from(message)) {
        Ok(Some(Message::ErrorResponse(body))) => server_error(body.fields()),
        _ => malformed(READ_REPLY, "an error message", message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_tags_tell_what_changed() {
        for (tag, wanted) in [
            (&b"UPDATE 3\0"[..], 3),
            (b"DELETE 12\0", 12),
            (b"INSERT 0 1\0", 1),
            (b"SELECT 100\0", 0),
            (b"BEGIN\0", 0),
            (b"UPDATE\0", 0),
            (b"", 0),
        ] {
            assert_eq!(changed(tag), wanted, "{}", String::from_utf8_lossy(tag));
        }
    }
}
