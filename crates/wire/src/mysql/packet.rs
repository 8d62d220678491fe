//! Packets on a blocking stream: each has a three-byte length, a sequence number and the payload.
//!
//! Each length has a limit, sequence numbers must match, and no byte after a packet is read, so the stream can be
//! passed on at any time. The measured loop uses only the helpers without I/O at the end of this file. Called by the
//! login, the text protocol and `prepare`.

use std::time::Duration;

use crate::mysql::fault;
use crate::{Stream, WireError, io};

/// Longest payload of one packet. A length of `0xff_ffff` means that another packet continues the payload; since 16 MiB
/// is our limit for any payload, such a packet is refused.
pub(super) const MAX_PAYLOAD_BYTES: usize = 0xff_fffe;

/// Longest greeting. Real greetings have about 100 bytes. If the text banner of another server is read as a length, the
/// result is millions.
const MAX_GREETING_BYTES: usize = 64 * 1024;

/// The payload is read in pieces of this size, so that memory grows with the received bytes, not with the announced
/// length.
const PIECE_BYTES: usize = 64 * 1024;

pub(super) const HEADER_BYTES: usize = 4;

/// A stream of packets in both directions of one connection.
#[derive(Debug)]
pub(super) struct Packets<S> {
    stream: S,
    sequence: u8,
    action: &'static str,
    limit: Duration,
}

impl<S: Stream> Packets<S> {
    /// Returns the packet layer of a stream on which the server sends its greeting next. `limit` is only for error
    /// messages.
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, sequence: 0, action: "read the greeting", limit }
    }

    /// Returns the current action, for errors.
    pub(super) fn action(&self) -> &'static str {
        self.action
    }

    /// Sets the name of the next action in the same exchange, for errors.
    pub(super) fn name_step(&mut self, action: &'static str) {
        self.action = action;
    }

    /// Sends a command; sequence numbers start again at 0.
    pub(super) fn command(&mut self, action: &'static str, code: u8, argument: &[u8]) -> Result<(), WireError> {
        self.action = action;
        self.sequence = 0;
        self.write(&[&[code], argument].concat())
    }

    /// Reads the first packet, which may come from any program that listens at this address.
    pub(super) fn read_greeting(&mut self) -> Result<Vec<u8>, WireError> {
        let header = self.read_header()?;
        if header[3] != 0 {
            let expected = "a MySQL greeting";
            return Err(fault::malformed(self.action, expected, &header));
        }
        self.read_payload(header, MAX_GREETING_BYTES)
    }

    pub(super) fn read(&mut self) -> Result<Vec<u8>, WireError> {
        let header = self.read_header()?;
        if header[3] != self.sequence {
            let expected = "the next packet in sequence";
            return Err(fault::malformed(self.action, expected, &header));
        }
        self.read_payload(header, MAX_PAYLOAD_BYTES)
    }

    /// Sends `payload`, split as the protocol requires.
    pub(super) fn write(&mut self, payload: &[u8]) -> Result<(), WireError> {
        const FULL: usize = 0xff_ffff;
        let mut bytes = Vec::with_capacity(payload.len() + HEADER_BYTES);
        let mut rest = payload;
        loop {
            let (piece, next) = rest.split_at(rest.len().min(FULL));
            bytes.extend_from_slice(&header(piece.len(), self.sequence));
            bytes.extend_from_slice(piece);
            self.sequence = self.sequence.wrapping_add(1);
            rest = next;
            // After a full piece another piece must follow, even if it is empty.
            if piece.len() < FULL {
                break;
            }
        }
        io::write_all(&mut self.stream, &bytes, self.action, self.limit)
    }

    pub(super) fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    pub(super) fn into_stream(self) -> S {
        self.stream
    }

    fn read_header(&mut self) -> Result<[u8; HEADER_BYTES], WireError> {
        let mut header = [0; HEADER_BYTES];
        io::read_exact(&mut self.stream, &mut header, self.action, self.limit)?;
        Ok(header)
    }

    fn read_payload(&mut self, header: [u8; HEADER_BYTES], limit_bytes: usize) -> Result<Vec<u8>, WireError> {
        let stated = payload_bytes(header);
        if stated > limit_bytes {
            return Err(too_long(self.action, stated, limit_bytes));
        }
        self.sequence = header[3].wrapping_add(1);
        let mut payload = Vec::new();
        while payload.len() < stated {
            let start = payload.len();
            payload.resize(stated.min(start + PIECE_BYTES), 0);
            let piece = &mut payload[start..];
            io::read_exact(&mut self.stream, piece, self.action, self.limit)?;
        }
        Ok(payload)
    }
}

/// Returns the four bytes before a payload of `n_bytes` (below 2^24).
pub(super) fn header(n_bytes: usize, sequence: u8) -> [u8; HEADER_BYTES] {
    let [low, middle, high, ..] = n_bytes.to_le_bytes();
    [low, middle, high, sequence]
}

/// Returns the payload's length in bytes, as the header states it.
pub(super) fn payload_bytes(header: [u8; HEADER_BYTES]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

/// Returns the error for a peer that announced more than the limit.
#[cold]
pub(super) fn too_long(action: &'static str, stated: usize, limit: usize) -> WireError {
    WireError::TooLong { action, stated: stated as u64, limit: limit as u64 }
}

/// Reads a length-encoded integer: returns its value and the number of bytes that encode it. `None` if `bytes` ends too
/// early or starts with a byte of another meaning (NULL, error).
///
/// # Source
/// dev.mysql.com/doc/dev/mysql-server: `page_protocol_basic_dt_integers`.
pub(super) fn length_encoded(bytes: &[u8]) -> Option<(u64, usize)> {
    let (&first, rest) = bytes.split_first()?;
    let n_bytes = match first {
        0..=0xfa => return Some((u64::from(first), 1)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        0xfb | 0xff => return None,
    };
    let mut little_endian = [0; 8];
    little_endian[..n_bytes].copy_from_slice(rest.get(..n_bytes)?);
    Some((u64::from_le_bytes(little_endian), 1 + n_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_integer(bytes: &[u8], wanted: Option<(u64, usize)>) {
        assert_eq!(length_encoded(bytes), wanted);
    }

    #[test]
    fn reads_length_encoded_integers() {
        check_integer(&[], None);
        check_integer(&[0], Some((0, 1)));
        check_integer(&[0xfa, 9], Some((250, 1)));
        check_integer(&[0xfb], None);
        check_integer(&[0xfc, 0xfb, 0], Some((251, 3)));
        check_integer(&[0xfc, 0xfb], None);
        check_integer(&[0xfd, 1, 2, 3], Some((0x03_0201, 4)));
        check_integer(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255], Some((u64::MAX, 9)));
        check_integer(&[0xfe, 1, 2, 3, 4, 5, 6, 7], None);
        check_integer(&[0xff], None);
    }

    #[test]
    fn a_payload_of_full_length_is_followed_by_an_empty_packet() {
        let mut packets = Packets::new(std::io::Cursor::new(Vec::new()), Duration::ZERO);
        packets.write(&vec![7; 0xff_ffff]).unwrap();
        let written = packets.into_stream().into_inner();
        assert_eq!(written.len(), 4 + 0xff_ffff + 4);
        assert_eq!(written[..4], [0xff, 0xff, 0xff, 0]);
        assert_eq!(written[4 + 0xff_ffff..], [0, 0, 0, 1]);
    }

    #[test]
    fn refuses_a_packet_that_is_out_of_sequence() {
        let stream = std::io::Cursor::new(vec![1, 0, 0, 5, 0]);
        let fault = Packets::new(stream, Duration::ZERO).read().unwrap_err();
        assert!(matches!(fault, WireError::Malformed { .. }), "{fault:?}");
    }
}
