//! One request and its answer, byte by byte.

use ureq_proto::BodyMode;
use ureq_proto::client::state::{RecvBody, RecvResponse};
use ureq_proto::client::{Call, RecvBodyResult, RecvResponseResult, SendRequestResult};

use super::answer::{Answer, Buffers};
use super::error::HttpError;
use super::request::Request;
use crate::io::{read_or_end, write_all};
use crate::{Stream, WireError};

const SEND: &str = "request a page";
const READ: &str = "read a page";
/// The first bytes of each answer that this client understands.
const HTTP_1: &[u8] = b"HTTP/1.";
const HTTP_2: &[u8] = b"HTTP/2";
/// Length of a frame header in HTTP/2: length, type, flags, stream.
const FRAME_BYTES: usize = 9;
/// The frames with which an HTTP/2 server may begin: SETTINGS or GOAWAY.
const FRAME_TYPES: [u8; 2] = [4, 7];
/// The record types of a TLS alert and a TLS handshake.
const TLS_TYPES: [u8; 2] = [0x15, 0x16];
/// The first byte of the TLS version, which follows the type.
const TLS_VERSION: u8 = 3;

/// Sends a request and reads the whole answer.
///
/// The stream has its own time limits. The stream may carry another request only if [`Answer::keeps_alive`] is true and
/// no error occurred.
///
/// # Errors
/// [`HttpError::Unanswered`] if the server closed the connection before the first byte of an answer; `Http2`, `Tls` and
/// `NoHttp` for answers of another kind; [`HttpError::Wire`] for all other errors.
///
/// # Cost
/// One write, and at least one read for each 64 KiB; the library allocates memory for the head of the answer.
pub fn exchange(stream: &mut impl Stream, request: &Request, buffers: &mut Buffers) -> Result<Answer, HttpError> {
    buffers.clear();
    let Ok(Some(SendRequestResult::RecvResponse(mut call))) = await_answer(request) else {
        let what = format!("cannot wait for the answer to {}", request.method());
        return Err(WireError::Request { what }.into());
    };
    write_all(stream, request.bytes(), SEND, buffers.limits.time).map_err(unanswered)?;
    let status = read_head(stream, &mut call, buffers)?;
    let keeps_alive = match call.proceed() {
        Some(RecvResponseResult::RecvBody(call)) => read_body(stream, call, buffers)?,
        Some(RecvResponseResult::Redirect(call)) => !call.must_close_connection(),
        Some(RecvResponseResult::Cleanup(call)) => !call.must_close_connection(),
        None => return Err(malformed("a complete head", b"").into()),
    };
    Ok(buffers.finish(status, keeps_alive))
}

/// Returns the library's state after a request was sent. The bytes of the request were made earlier, without this
/// state.
fn await_answer(request: &Request) -> Result<Option<SendRequestResult>, ureq_proto::Error> {
    let mut call = Call::new(request.gist())?.proceed();
    // Large enough for a short request line and one header: the copy of the request in this state contains nothing
    // else.
    let mut unsent = [0; 64];
    while !call.can_proceed() {
        call.write(&mut unsent)?;
    }
    call.proceed()
}

/// Reads until a complete head has arrived that is not an interim answer; returns its status.
fn read_head(stream: &mut impl Stream, call: &mut Call<RecvResponse>, buffers: &mut Buffers) -> Result<u16, HttpError> {
    let mut is_begun = false;
    loop {
        let n_known = buffers.input.unused().len();
        let n_new = match read_more(stream, buffers) {
            Err(error) if !is_begun => return Err(unanswered(error)),
            outcome => outcome?,
        };
        let unused = buffers.input.unused();
        if n_new == 0 {
            return Err(match unused {
                [] if !is_begun => HttpError::Unanswered,
                other if !other.starts_with(HTTP_1) && !HTTP_1.starts_with(other) => HttpError::no_http(other),
                _ => WireError::Closed { action: READ }.into(),
            });
        }
        is_begun = true;
        recognise(unused)?;
        // The head can only be complete if a new line end has arrived.
        if unused[n_known..].contains(&b'\n')
            && let Some(status) = parse_heads(call, buffers)?
        {
            return Ok(status);
        }
    }
}

/// Parses the complete heads, up to the first one whose status is 200 or higher.
fn parse_heads(call: &mut Call<RecvResponse>, buffers: &mut Buffers) -> Result<Option<u16>, WireError> {
    loop {
        let (n_used, head) = { call.try_response(buffers.input.unused(), false) }
            .map_err(|error| malformed("an HTTP/1.1 head", error.to_string().as_bytes()))?;
        buffers.input.advance(n_used);
        match head {
            Some(head) => return Ok(Some(head.status().as_u16())),
            None if n_used == 0 => return Ok(None),
            None => {}
        }
    }
}

/// Reads a body to its end; returns true if the connection may carry another request.
fn read_body(stream: &mut impl Stream, mut call: Call<RecvBody>, buffers: &mut Buffers) -> Result<bool, WireError> {
    let ends_by_close = call.body_mode() == BodyMode::CloseDelimited;
    loop {
        loop {
            let Buffers { input, piece, .. } = &mut *buffers;
            let (n_used, n_taken) = { call.read(input.unused(), piece) }
                .map_err(|error| malformed("chunks", error.to_string().as_bytes()))?;
            input.advance(n_used);
            buffers.take(n_taken)?;
            if n_used == 0 {
                break;
            }
        }
        if !ends_by_close && call.can_proceed() {
            return Ok(match call.proceed() {
                Some(RecvBodyResult::Redirect(call)) => !call.must_close_connection(),
                Some(RecvBodyResult::Cleanup(call)) => !call.must_close_connection(),
                None => false,
            });
        }
        if read_more(stream, buffers)? == 0 {
            // Some servers close the connection after the last chunk, without the empty line that should follow.
            return if ends_by_close || call.is_ended_chunked() {
                Ok(false)
            } else {
                Err(WireError::Closed { action: READ })
            };
        }
    }
}

/// Reads available bytes and puts them after the unused bytes; returns 0 at the stream's end.
fn read_more(stream: &mut impl Stream, buffers: &mut Buffers) -> Result<usize, WireError> {
    let room = buffers.input.room();
    if room.is_empty() {
        let found = &buffers.input.unused()[..FRAME_BYTES];
        return Err(malformed("headers and lines of at most 64 KiB", found));
    }
    let n_new = read_or_end(stream, room, READ, buffers.limits.time)?;
    buffers.input.grow(n_new);
    Ok(n_new)
}

/// Fails as soon as the first bytes show that the answer is not HTTP/1.
fn recognise(received: &[u8]) -> Result<(), HttpError> {
    let n_empty = { received.iter() }.take_while(|it| b"\r\n".contains(it));
    let begun = &received[n_empty.count()..];
    match begun {
        _ if begun.starts_with(HTTP_1) || HTTP_1.starts_with(begun) => Ok(()),
        _ if begun.starts_with(HTTP_2) => Err(HttpError::Http2),
        [kind] if TLS_TYPES.contains(kind) => Ok(()),
        [kind, TLS_VERSION, ..] if TLS_TYPES.contains(kind) => Err(HttpError::Tls),
        [0, 0, _, kind, _, 0, 0, 0, 0, ..] if FRAME_TYPES.contains(kind) => Err(HttpError::Http2),
        [0, ..] if begun.len() < FRAME_BYTES => Ok(()),
        _ => Err(HttpError::no_http(received)),
    }
}

fn malformed(expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed("HTTP", READ, expected, found)
}

/// Returns the error for a stream that was closed before an answer began.
fn unanswered(error: WireError) -> HttpError {
    match error {
        WireError::Closed { .. } => HttpError::Unanswered,
        other => other.into(),
    }
}
