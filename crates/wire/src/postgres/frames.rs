//! Messages in both directions: framing with limits, errors of the server, and messages that may arrive at any time.
//!
//! Reads exactly the bytes of each message, so the stream can be passed on after any message. Only for set-up; the
//! measured loop has its own framing (see `prepared`). Called by login, query and prepare.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ErrorFields, Message};

use crate::error::printable;
use crate::io::{read_exact, write_all};
use crate::{Stream, WireError};

pub(super) const PROTOCOL: &str = "PostgreSQL";

pub(super) const HEADER_BYTES: usize = 5;
/// Highest number of bytes in one message after the login. looptax's largest row is far below this limit.
pub(super) const MESSAGE_LIMIT: u64 = 16 << 20;
/// Highest number of bytes in all messages of one answer.
pub(super) const ANSWER_LIMIT: u64 = 64 << 20;

/// The amount that the peer may still send in one exchange before looptax stops reading.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    /// Tags of the allowed messages.
    tags: &'static [u8],
    /// Highest number of bytes in one message.
    message: u64,
    /// Number of bytes that are still allowed in total.
    total: u64,
}

impl Allowance {
    /// Limits before the login is complete: real servers need a few hundred bytes.
    pub(super) const LOGIN: Self = Self { tags: b"RSKENAZ", message: 64 << 10, total: 1 << 20 };
    /// Limits for one answer of a server after the login.
    pub(super) const ANSWER: Self = Self { tags: b"12ACDEGHINSTWZnt", message: MESSAGE_LIMIT, total: ANSWER_LIMIT };

    /// Subtracts `bytes` from the total that is left.
    pub(super) fn spend(&mut self, bytes: u64, action: &'static str) -> Result<(), WireError> {
        match self.total.checked_sub(bytes) {
            Some(left) => {
                self.total = left;
                Ok(())
            }
            None => Err(WireError::TooLong { action, stated: bytes, limit: self.total }),
        }
    }
}

/// The stream, and the buffer for messages.
#[derive(Debug)]
pub(super) struct Frames<S> {
    stream: S,
    timeout_hint: Duration,
    outgoing: BytesMut,
}

impl<S: Stream> Frames<S> {
    pub(super) fn new(stream: S, timeout_hint: Duration) -> Self {
        Self { stream, timeout_hint, outgoing: BytesMut::new() }
    }

    /// Sends the messages that `write` appends to the buffer, in one write.
    pub(super) fn send(
        &mut self,
        action: &'static str,
        write: impl FnOnce(&mut BytesMut) -> io::Result<()>,
    ) -> Result<(), WireError> {
        self.outgoing.clear();
        // Fails if a text contains a zero byte or is longer than 2 GiB, which the protocol cannot carry.
        write(&mut self.outgoing).map_err(|source| WireError::Io { action, source })?;
        write_all(&mut self.stream, &self.outgoing, action, self.timeout_hint)
    }

    /// Returns the next message that is not a notice or a notification.
    pub(super) fn receive(&mut self, action: &'static str, allowance: &mut Allowance) -> Result<Message, WireError> {
        loop {
            match self.receive_any(action, allowance)? {
                Message::NoticeResponse(_) | Message::NotificationResponse(_) => {}
                message => return Ok(message),
            }
        }
    }

    /// Passes every message up to `ReadyForQuery` to `take`, and then returns the server's error, if there was one.
    /// Errors, and messages that may arrive at any time, are not passed to `take`.
    pub(super) fn receive_answer(
        &mut self,
        action: &'static str,
        mut take: impl FnMut(Message, &mut Allowance) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let mut allowance = Allowance::ANSWER;
        let mut refusal = None;
        loop {
            match self.receive(action, &mut allowance) {
                // After a fatal error the stream ends. The server's error is more useful than the error about that end.
                Err(fault) => return Err(refusal.unwrap_or(fault)),
                Ok(Message::ReadyForQuery(_)) => return refusal.map_or(Ok(()), Err),
                Ok(Message::ErrorResponse(body)) => {
                    refusal.get_or_insert_with(|| server_error(body.fields()));
                }
                Ok(Message::ParameterStatus(_)) => {}
                Ok(message) => take(message, &mut allowance)?,
            }
        }
    }

    pub(super) fn into_stream(self) -> S {
        self.stream
    }

    fn receive_any(&mut self, action: &'static str, allowance: &mut Allowance) -> Result<Message, WireError> {
        let mut header = [0; HEADER_BYTES];
        read_exact(&mut self.stream, &mut header, action, self.timeout_hint)?;
        if !allowance.tags.contains(&header[0]) {
            return Err(malformed(action, "a backend message", &header));
        }
        let body_bytes = body_bytes(header, allowance.message, action)?;
        allowance.spend((HEADER_BYTES + body_bytes) as u64, action)?;
        let mut message = BytesMut::zeroed(HEADER_BYTES + body_bytes);
        message[..HEADER_BYTES].copy_from_slice(&header);
        let body = &mut message[HEADER_BYTES..];
        read_exact(&mut self.stream, body, action, self.timeout_hint)?;
        Message::parse(&mut message).ok().flatten().ok_or_else(|| malformed(action, "a whole backend message", &header))
    }
}

/// Returns the length of the body that `header` announces.
///
/// # Errors
/// [`WireError::Malformed`] for a length below the 4 bytes of the length field, [`WireError::TooLong`] above `limit`.
pub(super) fn body_bytes(header: [u8; HEADER_BYTES], limit: u64, action: &'static str) -> Result<usize, WireError> {
    let [_tag, a, b, c, d] = header;
    let stated = u32::from_be_bytes([a, b, c, d]);
    if stated < 4 {
        return Err(malformed(action, "a message length of 4 or more bytes", &header));
    }
    if u64::from(stated) > limit {
        return Err(WireError::TooLong { action, stated: u64::from(stated), limit });
    }
    Ok(stated as usize - 4)
}

/// Converts the server's error: SQLSTATE and primary message. Fields that cannot be parsed stay empty.
pub(super) fn server_error(mut fields: ErrorFields<'_>) -> WireError {
    let (mut code, mut message) = (String::new(), String::new());
    while let Ok(Some(field)) = fields.next() {
        match field.type_() {
            b'C' => code = printable(field.value_bytes()),
            b'M' => message = printable(field.value_bytes()),
            _ => {}
        }
    }
    WireError::Server { code, message }
}

/// Returns the error for a peer that sent `found` instead of `expected`.
pub(super) fn malformed(action: &'static str, expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed(PROTOCOL, action, expected, found)
}

/// Returns the error for a complete message that is not allowed at this point.
pub(super) fn out_of_place(action: &'static str, expected: &'static str) -> WireError {
    malformed(action, expected, b"another message")
}
