//! Finds the end of a statement's reply from the packet headers only, and extracts its result.
//!
//! Runs for each receive of the measured loop. It must not allocate (except for errors), lock, log or do I/O. It
//! remembers where it stopped, so the same bytes are never read twice. Called by `prepared.rs` and `statement.rs`.

use std::ops::Range;

use crate::mysql::fault;
use crate::mysql::handshake::Dialect;
use crate::mysql::packet::{HEADER_BYTES, MAX_PAYLOAD_BYTES, length_encoded, payload_bytes, too_long};
use crate::mysql::text::{column_count, is_end};
use crate::transaction::Answer;
use crate::{Reply, WireError};

/// Longest reply in bytes. A point select returns a few hundred bytes, a scan of wide rows some MiB.
const MAX_REPLY_BYTES: usize = 64 << 20;

const ACTION: &str = "read the reply to a statement";

/// The protocol in which the server sends rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Binary,
    /// The text protocol, for a statement that is sent as text.
    Text,
}

/// The first byte of a server's request for a local file.
const LOCAL_INFILE: u8 = 0xfb;

/// How the binary protocol writes a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Bytes(usize),
    LengthEncoded,
}

/// The progress in reading a reply.
#[derive(Debug, Clone)]
struct Progress {
    /// The position at which the next packet starts.
    at: usize,
    sequence: u8,
    n_columns: u16,
    step: Step,
    data: Option<Range<usize>>,
    n_rows: u64,
    n_changed: u64,
}

/// The progress in reading a reply whose bytes are dropped after they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passed {
    /// Number of bytes at the start of the received bytes that are no longer needed.
    pub(super) bytes: usize,
    /// The number of rows in the reply, once it is complete.
    pub(super) n_rows: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Count,
    Definitions { left: u16 },
    DefinitionsEnd,
    Rows,
}

impl Progress {
    const START: Self =
        Self { at: 0, sequence: 1, n_columns: 0, step: Step::Count, data: None, n_rows: 0, n_changed: 0 };
}

/// Reads one reply after the other.
#[derive(Debug)]
pub(super) struct Replies {
    dialect: Dialect,
    form: Form,
    first_column: Layout,
    progress: Progress,
}

/// Returns the layout of a column's values, from the type in the column's definition. The fields of the definition are
/// counted from its end, because MariaDB's extended metadata adds fields at its beginning.
pub(super) fn layout(action: &'static str, definition: &[u8]) -> Result<Layout, WireError> {
    // The fields: length of the rest, character set, column length, type, flags, decimals, filler.
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
        // Dates and times have a one-byte length before them; all other types have a length-encoded integer before
        // them.
        _ => Layout::LengthEncoded,
    })
}

impl Replies {
    /// Makes the reader of replies in this form. `first_column` is the layout that the server announced when it
    /// prepared the statement; `None` if it announced no layout.
    pub(super) fn new(dialect: Dialect, form: Form, first_column: Option<Layout>) -> Self {
        Self { dialect, form, first_column: first_column.unwrap_or(Layout::LengthEncoded), progress: Progress::START }
    }

    /// Reads the complete packets, from the position at which the last call stopped. After an error, reading begins
    /// again at the start of a reply.
    pub(super) fn advance(&mut self, received: &[u8]) -> Result<Option<Answer>, WireError> {
        let outcome = self.walk(received);
        if !matches!(outcome, Ok(None)) {
            self.progress = Progress::START;
        }
        outcome
    }

    /// Like [`Self::advance`], for a reply of any length: the bytes that were read are dropped, and only their counts
    /// are kept.
    pub(super) fn pass(&mut self, received: &[u8]) -> Result<Passed, WireError> {
        let outcome = self.walk(received);
        match outcome {
            Ok(None) => Ok(Passed { bytes: std::mem::take(&mut self.progress.at), n_rows: None }),
            Ok(Some(answer)) => {
                let n_rows = self.progress.n_rows;
                self.progress = Progress::START;
                Ok(Passed { bytes: answer.reply.bytes, n_rows: Some(n_rows) })
            }
            Err(error) => {
                self.progress = Progress::START;
                Err(error)
            }
        }
    }

    fn walk(&mut self, received: &[u8]) -> Result<Option<Answer>, WireError> {
        while let Some(packet) = self.next_packet(received)? {
            self.progress.at = packet.end;
            self.progress.sequence = self.progress.sequence.wrapping_add(1);
            if self.take(&received[packet.clone()], packet.start)? {
                let data = self.progress.data.take();
                return Ok(Some(Answer {
                    has_row: data.is_some(),
                    n_changed: self.progress.n_changed,
                    reply: Reply { bytes: packet.end, data: data.unwrap_or(0..0) },
                }));
            }
        }
        Ok(None)
    }

    /// Returns the position of the next packet's payload, once the packet is complete.
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

    /// Processes one packet, whose payload starts at `start`; returns true if it was the reply's last packet.
    fn take(&mut self, payload: &[u8], start: usize) -> Result<bool, WireError> {
        if payload.first() == Some(&fault::ERR) {
            return Err(fault::server_error(ACTION, payload));
        }
        match self.progress.step {
            Step::Count => self.take_count(payload),
            Step::Definitions { left } => {
                if left == self.progress.n_columns && self.form == Form::Binary {
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
            let (n_changed, _) =
                length_encoded(&payload[1..]).ok_or_else(|| wrong("a count of affected rows", payload))?;
            self.progress.n_changed = n_changed;
            return Ok(true);
        }
        if payload.first() == Some(&LOCAL_INFILE) {
            return Err(WireError::Unsupported { what: "LOAD DATA LOCAL".to_owned() });
        }
        let count = column_count(ACTION, self.dialect, payload)?;
        self.progress.n_columns = count.n_columns;
        self.progress.step =
            if count.has_definitions { Step::Definitions { left: count.n_columns } } else { self.after_definitions() };
        Ok(false)
    }

    fn after_definitions(&self) -> Step {
        if self.dialect.is_eof_deprecated { Step::Rows } else { Step::DefinitionsEnd }
    }

    fn take_row(&mut self, payload: &[u8], start: usize) -> Result<bool, WireError> {
        if is_end(self.dialect, payload) {
            return Ok(true);
        }
        if self.form == Form::Binary && payload.first() != Some(&0x00) {
            return Err(wrong("a row", payload));
        }
        self.progress.n_rows += 1;
        if self.progress.data.is_none() {
            let value = match self.form {
                Form::Binary => self.first_value(payload),
                Form::Text => first_text(payload),
            }
            .ok_or_else(|| wrong("a row with its first column", payload))?;
            self.progress.data = Some(start + value.start..start + value.end);
        }
        Ok(false)
    }

    /// Returns the position of the first column's value in a row.
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

/// Returns the position of the first column's value in a row of the text protocol; empty for NULL.
fn first_text(row: &[u8]) -> Option<Range<usize>> {
    const NULL: u8 = 0xfb;
    if row.first() == Some(&NULL) {
        return Some(0..0);
    }
    let (n_bytes, start) = length_encoded(row)?;
    let end = start.checked_add(usize::try_from(n_bytes).ok()?)?;
    (end <= row.len()).then_some(start..end)
}

#[cold]
fn wrong(expected: &'static str, payload: &[u8]) -> WireError {
    fault::malformed(ACTION, expected, payload)
}
