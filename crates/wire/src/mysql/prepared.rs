//! One prepared query: made once over the blocking connection, then run by the measured loop.
//!
//! The codec half runs per request: it copies a template and eight bytes, and finds the end of the
//! reply by packet headers alone. It must not allocate (errors apart), lock, log or do I/O, and it
//! remembers where it stopped, so that half a reply is never walked twice. `prepare.rs`
//! makes it, the load engine drives it.

use std::ops::Range;

use crate::mysql::fault;
use crate::mysql::handshake::Dialect;
use crate::mysql::packet::{
    HEADER_BYTES, MAX_PAYLOAD_BYTES, length_encoded, payload_bytes, too_long,
};
use crate::mysql::text::{column_count, is_end};
use crate::{Codec, Reply, WireError};

/// Longest reply. A point select brings some hundred bytes, a wide scan some MiB.
const MAX_REPLY_BYTES: usize = 64 << 20;

const ACTION: &str = "run a prepared statement";

/// The key in a request.
pub(super) const KEY_BYTES: usize = size_of::<u64>();

/// A prepared statement's requests and replies. It belongs to the connection (and the stream) that it
/// was prepared on.
///
/// The key's type goes out with the first request only, as the C libraries do it; after an error
/// it goes out again. The data of a reply is the first column of its first row as the binary
/// protocol writes it (without a length before it): empty for NULL, for no row and for a statement
/// without a result.
///
/// # Source
/// dev.mysql.com/doc/dev/mysql-server: `page_protocol_com_stmt_execute`,
/// `page_protocol_binary_resultset`; mariadb.com/docs: "Result Set Packets".
#[derive(Debug)]
pub struct PreparedQuery {
    dialect: Dialect,
    /// With the key's type; the key is the last eight bytes.
    first_request: Vec<u8>,
    /// Without it. The same as the first where there is no key.
    later_request: Vec<u8>,
    has_key: bool,
    is_bound: bool,
    first_column: Layout,
    progress: Progress,
}

/// How the binary protocol writes a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Bytes(usize),
    LengthEncoded,
}

/// How far into a reply we are.
#[derive(Debug, Clone)]
struct Progress {
    /// Where the next packet starts.
    at: usize,
    sequence: u8,
    n_columns: u16,
    step: Step,
    data: Option<Range<usize>>,
}

/// What the next packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Count,
    Definitions { left: u16 },
    DefinitionsEnd,
    Rows,
}

impl Progress {
    const START: Self = Self {
        at: 0,
        sequence: 1,
        n_columns: 0,
        step: Step::Count,
        data: None,
    };
}

/// How a column's values are written, by the type in its definition. Counted from the end, because
/// MariaDB's extended metadata makes the front longer.
pub(super) fn layout(action: &'static str, definition: &[u8]) -> Result<Layout, WireError> {
    // Length of the rest, character set, column length, type, flags, decimals, filler.
    let [.., 0x0c, _, _, _, _, _, _, kind, _, _, _, _, _] = definition else {
        return Err(fault::malformed(action, "a column definition", definition));
    };
    Ok(match kind {
        // TINY
        0x01 => Layout::Bytes(1),
        // SHORT, YEAR
        0x02 | 0x0d => Layout::Bytes(2),
        // LONG, FLOAT, INT24
        0x03 | 0x04 | 0x09 => Layout::Bytes(4),
        // DOUBLE, LONGLONG
        0x05 | 0x08 => Layout::Bytes(8),
        // Dates and times have a length of one byte before them, all else a length-encoded one.
        _ => Layout::LengthEncoded,
    })
}

impl Codec for PreparedQuery {
    fn request(&mut self, key: u64, out: &mut Vec<u8>) {
        let template = if self.is_bound {
            &self.later_request
        } else {
            &self.first_request
        };
        out.extend_from_slice(template);
        if self.has_key {
            let key_at = out.len() - KEY_BYTES;
            out[key_at..].copy_from_slice(&key.to_le_bytes());
        }
        self.is_bound = true;
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let outcome = self.advance(received);
        match &outcome {
            Ok(None) => {}
            Ok(Some(_)) => self.progress = Progress::START,
            Err(_) => {
                self.progress = Progress::START;
                self.is_bound = false;
            }
        }
        outcome
    }
}

impl PreparedQuery {
    /// Takes the first and the later request, with the key as their last eight bytes where there is
    /// one, and the layout that the prepare announced.
    pub(super) fn new(
        dialect: Dialect,
        [first_request, later_request]: [Vec<u8>; 2],
        has_key: bool,
        first_column: Option<Layout>,
    ) -> Self {
        Self {
            dialect,
            first_request,
            later_request,
            has_key,
            is_bound: false,
            first_column: first_column.unwrap_or(Layout::LengthEncoded),
            progress: Progress::START,
        }
    }

    /// Walks the packets that are whole, from where the last call stopped.
    fn advance(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        while let Some(packet) = self.next_packet(received)? {
            self.progress.at = packet.end;
            self.progress.sequence = self.progress.sequence.wrapping_add(1);
            if self.take(&received[packet.clone()], packet.start)? {
                return Ok(Some(Reply {
                    bytes: packet.end,
                    data: self.progress.data.take().unwrap_or(0..0),
                }));
            }
        }
        Ok(None)
    }

    /// Where the next packet's payload lies, once it is there as a whole.
    fn next_packet(&self, received: &[u8]) -> Result<Option<Range<usize>>, WireError> {
        let rest = received.get(self.progress.at..).unwrap_or_default();
        let Some((&header, _)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        if header[3] != self.progress.sequence {
            let expected = "the next packet in sequence";
            return Err(fault::malformed(ACTION, expected, rest));
        }
        let stated = payload_bytes(header);
        if stated > MAX_PAYLOAD_BYTES {
            return Err(too_long(ACTION, stated, MAX_PAYLOAD_BYTES));
        }
        let start = self.progress.at + HEADER_BYTES;
        let end = start + stated;
        if end > MAX_REPLY_BYTES {
            return Err(too_long(ACTION, end, MAX_REPLY_BYTES));
        }
        Ok((received.len() >= end).then_some(start..end))
    }

    /// Takes one packet, whose payload starts at `start`: whether it was the reply's last.
    fn take(&mut self, payload: &[u8], start: usize) -> Result<bool, WireError> {
        if payload.first() == Some(&fault::ERR) {
            return Err(fault::server_error(ACTION, payload));
        }
        match self.progress.step {
            Step::Count => self.take_count(payload),
            Step::Definitions { left } => {
                if left == self.progress.n_columns {
                    self.first_column = layout(ACTION, payload)?;
                }
                self.progress.step = match left - 1 {
                    0 => self.after_definitions(),
                    left => Step::Definitions { left },
                };
                Ok(false)
            }
            Step::DefinitionsEnd if is_end(self.dialect, payload) => {
                self.progress.step = Step::Rows;
                Ok(false)
            }
            Step::DefinitionsEnd => Err(wrong("an end of the definitions", payload)),
            Step::Rows => self.take_row(payload, start),
        }
    }

    fn take_count(&mut self, payload: &[u8]) -> Result<bool, WireError> {
        if payload.first() == Some(&0x00) {
            return Ok(true);
        }
        let count = column_count(ACTION, self.dialect, payload)?;
        self.progress.n_columns = count.n_columns;
        self.progress.step = if count.has_definitions {
            Step::Definitions {
                left: count.n_columns,
            }
        } else {
            self.after_definitions()
        };
        Ok(false)
    }

    fn after_definitions(&self) -> Step {
        if self.dialect.is_eof_deprecated {
            Step::Rows
        } else {
            Step::DefinitionsEnd
        }
    }

    fn take_row(&mut self, payload: &[u8], start: usize) -> Result<bool, WireError> {
        if payload.first() != Some(&0x00) {
            if is_end(self.dialect, payload) {
                return Ok(true);
            }
            return Err(wrong("a row", payload));
        }
        if self.progress.data.is_none() {
            let value = self
                .first_value(payload)
                .ok_or_else(|| wrong("a row with its first column", payload))?;
            self.progress.data = Some(start + value.start..start + value.end);
        }
        Ok(false)
    }

    /// Where the first column's value lies in a row.
    fn first_value(&self, row: &[u8]) -> Option<Range<usize>> {
        // The bitmap of NULLs begins with two unused bits.
        const NULL_FIRST: u8 = 1 << 2;
        let start = 1 + (usize::from(self.progress.n_columns) + 2).div_ceil(8);
        if row.get(1)? & NULL_FIRST != 0 {
            return Some(start..start).filter(|_| row.len() >= start);
        }
        let (start, n_bytes) = match self.first_column {
            Layout::Bytes(n_bytes) => (start, n_bytes),
            Layout::LengthEncoded => {
                let (n_bytes, header_bytes) = length_encoded(row.get(start..)?)?;
                (start + header_bytes, usize::try_from(n_bytes).ok()?)
            }
        };
        let end = start.checked_add(n_bytes)?;
        (end <= row.len()).then_some(start..end)
    }
}

#[cold]
fn wrong(expected: &'static str, payload: &[u8]) -> WireError {
    fault::malformed(ACTION, expected, payload)
}
