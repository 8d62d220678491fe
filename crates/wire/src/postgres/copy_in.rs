//! Sends rows into a table with one statement, `COPY … FROM STDIN`, for servers that collect reports.
//!
//! Not for the measured loop: the server's answer has the same limits as any other. Called by `Connection::copy_in`.

use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{self, CopyData};

use super::frames::{Allowance, Frames, malformed, out_of_place, server_error};
use crate::{Stream, WireError};

const BEGIN: &str = "begin to copy rows";
const COPY: &str = "copy rows";

/// Number of bytes in one `CopyData` message; rows may be cut at any byte.
const PIECE_BYTES: usize = 64 << 10;

/// Sends `rows` as the answer to the server's `CopyInResponse`.
///
/// PostgreSQL documentation, "COPY Operations". After an error, the server discards all data up to `CopyDone`, so
/// looptax can send all rows before it reads an answer.
pub(super) fn run<S: Stream>(frames: &mut Frames<S>, sql: &str, rows: &[u8]) -> Result<u64, WireError> {
    frames.send(BEGIN, |out| frontend::query(sql, out))?;
    if let Some(refusal) = begin(frames)? {
        // After a fatal error only the end of the stream follows. The fatal error is more useful than the error about
        // that end.
        let _ = frames.receive_answer(BEGIN, |_, _| Ok(()));
        return Err(refusal);
    }
    for piece in rows.chunks(PIECE_BYTES) {
        frames.send(COPY, |out| {
            CopyData::new(piece)?.write(out);
            Ok(())
        })?;
    }
    frames.send(COPY, |out| {
        frontend::copy_done(out);
        Ok(())
    })?;
    let mut n_rows = None;
    frames.receive_answer(COPY, |message, _| match message {
        Message::CommandComplete(body) => {
            n_rows = body.tag().ok().and_then(rows_in_tag);
            Ok(())
        }
        _ => Err(out_of_place(COPY, "the end of the copy")),
    })?;
    n_rows.ok_or_else(|| malformed(COPY, "a number of rows", b"none"))
}

/// Waits until the server accepts data; returns the server's error if it refuses the statement.
fn begin<S: Stream>(frames: &mut Frames<S>) -> Result<Option<WireError>, WireError> {
    let mut allowance = Allowance::ANSWER;
    loop {
        match frames.receive(BEGIN, &mut allowance)? {
            Message::CopyInResponse(_) => return Ok(None),
            Message::ErrorResponse(body) => return Ok(Some(server_error(body.fields()))),
            Message::ParameterStatus(_) => {}
            _ => return Err(out_of_place(BEGIN, "a server that accepts rows")),
        }
    }
}

/// Returns the number in a command tag such as `COPY 1000`.
fn rows_in_tag(tag: &str) -> Option<u64> {
    tag.strip_prefix("COPY ")?.parse().ok()
}
