//! Rows into a table as one statement: `COPY … FROM STDIN`, as collectors of reports take them.
//!
//! Careful, not hot: the server's answer has the limits of any other. Called by `Connection::copy_in`.

use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{self, CopyData};

use super::frames::{Allowance, Frames, malformed, out_of_place, server_error};
use crate::{Stream, WireError};

const BEGIN: &str = "begin to copy rows";
const COPY: &str = "copy rows";

/// Bytes of one `CopyData`: rows may be cut anywhere.
const PIECE_BYTES: usize = 64 << 10;

/// Sends `rows` as the answer to the server's `CopyInResponse`.
///
/// # Source
/// PostgreSQL documentation, "COPY Operations": the server discards what comes after its own error up to `CopyDone`, so
/// that nothing has to be read before all is sent.
pub(super) fn run<S: Stream>(frames: &mut Frames<S>, sql: &str, rows: &[u8]) -> Result<u64, WireError> {
    frames.send(BEGIN, |out| frontend::query(sql, out))?;
    if let Some(refusal) = begin(frames)? {
        // Of a fatal error nothing follows but the end of the stream: the error says more.
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

/// The server's error, where it refuses the statement.
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

/// The number in `COPY 1000`.
fn rows_in_tag(tag: &str) -> Option<u64> {
    tag.strip_prefix("COPY ")?.parse().ok()
}
