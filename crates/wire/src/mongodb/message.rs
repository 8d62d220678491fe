//! One message: a header, flags, and a command or its answer as a document.
//!
//! Runs in the measured loop: looking for an answer neither copies nor allocates, except for an error. Called by the
//! connection and by the measured commands.
//!
//! # Source
//! mongodb.com/docs/manual/reference/mongodb-wire-protocol, `OP_MSG` (read 2026-11).

use std::ops::Range;

use super::bson::{self, Broken, Document, Element, Elements, LEAST_BYTES, TEXT};
use crate::WireError;
use crate::error::printable;

pub(super) const PROTOCOL: &str = "MongoDB";
/// Highest number of bytes in an answer: a document of at most 16 MiB, and a little more for the message around it.
pub(super) const ANSWER_LIMIT: usize = (16 << 20) + (16 << 10);

/// The only kind of message that looptax sends and accepts. Servers support it since wire version 6 (`MongoDB` 3.6).
const OP_MSG: i32 = 2013;
/// Length of the header: the message's length, its number, the number of the message that it answers, its kind.
const HEADER_BYTES: usize = 16;
/// Position of the message's number in the header.
const NUMBER_AT: usize = 4;
/// Length of everything before the document: header, flags, and the byte that announces a document.
const FRONT_BYTES: usize = HEADER_BYTES + 5;

/// The bytes of a command. A new number is written into them each time the command is sent.
#[derive(Debug, Clone)]
pub(super) struct Command {
    bytes: Vec<u8>,
    number: i32,
}

impl Command {
    pub(super) fn new(document: Document) -> Self {
        let document = document.finish();
        let mut bytes = Vec::with_capacity(FRONT_BYTES + document.len());
        let n_bytes = i32::try_from(FRONT_BYTES + document.len()).expect("commands are small");
        bytes.extend_from_slice(&n_bytes.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&OP_MSG.to_le_bytes());
        bytes.extend_from_slice(&[0; 5]);
        bytes.extend_from_slice(&document);
        Self { bytes, number: 0 }
    }

    /// Returns the position of the bytes `wanted`, which occur once in the command.
    pub(super) fn position(&self, wanted: &[u8]) -> usize {
        let mut windows = self.bytes.windows(wanted.len());
        windows.position(|it| it == wanted).expect("the caller put these bytes into the command")
    }

    /// Appends the command with its next number to `out`; returns the position at which the command starts.
    #[inline]
    pub(super) fn write(&mut self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        self.number = self.number.wrapping_add(1);
        out.extend_from_slice(&self.bytes);
        out[start + NUMBER_AT..][..4].copy_from_slice(&self.number.to_le_bytes());
        start
    }

    pub(super) fn count_from(&mut self, number: i32) {
        self.number = number;
    }

    /// Returns the number of the message that was written last.
    pub(super) fn number(&self) -> i32 {
        self.number
    }
}

/// Looks for an answer to the message with this number at the start of the received bytes. Returns the range of its
/// document, which is the last part of the message.
#[inline]
pub(super) fn answer(
    received: &[u8],
    number: i32,
    action: &'static str,
    limit: usize,
) -> Result<Option<Range<usize>>, WireError> {
    let field = |at: usize| -> Option<i32> {
        let bytes = received.get(at..at + 4)?;
        Some(i32::from_le_bytes(bytes.try_into().ok()?))
    };
    let front = [field(0), field(8), field(12)];
    let [Some(stated), Some(to), Some(kind)] = front else {
        // Bytes that cannot become a header are reported immediately, because the greeting of another protocol may be
        // shorter than a header.
        return match field(0) {
            Some(stated) if !is_possible(stated, limit) => Err(no_answer(received, action)),
            _ => Ok(None),
        };
    };
    if kind == OP_MSG && to == number && stated > 0 && stated as usize > limit {
        return Err(WireError::TooLong { action, stated: stated.unsigned_abs().into(), limit: limit as u64 });
    }
    // A server must not send checksums or several answers unless the client asked for them.
    let has_flags = field(HEADER_BYTES).is_some_and(|flags| flags != 0);
    if kind != OP_MSG || to != number || has_flags || !is_possible(stated, limit) {
        return Err(no_answer(received, action));
    }
    let end = stated as usize;
    match received.get(FRONT_BYTES - 1..end) {
        None => Ok(None),
        Some([0, ..]) => Ok(Some(FRONT_BYTES..end)),
        Some(_) => Err(no_answer(received, action)),
    }
}

/// Returns how many bytes may be read until the first message, or at least its header, is complete: at least 1.
pub(super) fn n_missing(received: &[u8], limit: usize) -> usize {
    let stated = received.first_chunk().map(|it| i32::from_le_bytes(*it));
    let n_bytes = match stated.and_then(|it| usize::try_from(it).ok()) {
        Some(stated) if received.len() >= HEADER_BYTES => stated.min(limit),
        _ => HEADER_BYTES,
    };
    n_bytes.saturating_sub(received.len()).max(1)
}

fn is_possible(stated: i32, limit: usize) -> bool {
    usize::try_from(stated).is_ok_and(|it| (FRONT_BYTES + LEAST_BYTES..=limit).contains(&it))
}

#[cold]
fn no_answer(received: &[u8], action: &'static str) -> WireError {
    let found = &received[..received.len().min(HEADER_BYTES + 4)];
    WireError::malformed(PROTOCOL, action, "an OP_MSG that answers ours", found)
}

/// Returns the error in an answer, if there is one: the error of the whole answer, or the error of the first document
/// that was refused.
#[inline]
pub(super) fn check(received: &[u8], document: Range<usize>, action: &'static str) -> Result<(), WireError> {
    let found = outcome(received, document.clone());
    match found {
        Ok(Outcome { is_ok: true, refused: None }) => Ok(()),
        Ok(Outcome { is_ok: true, refused: Some(array) }) => {
            let first = Elements::of(received, array).and_then(|mut it| it.element());
            match first {
                Ok(Some(first)) => Err(server_error(received, first.value, action)),
                _ => Err(broken(received, action)),
            }
        }
        Ok(_) => Err(server_error(received, document, action)),
        Err(Broken) => Err(broken(received, action)),
    }
}

struct Outcome {
    is_ok: bool,
    /// Position of the array `writeErrors`, which lists refused documents.
    refused: Option<Range<usize>>,
}

#[inline]
fn outcome(received: &[u8], document: Range<usize>) -> Result<Outcome, Broken> {
    let mut elements = Elements::of(received, document)?;
    let mut outcome = Outcome { is_ok: false, refused: None };
    while let Some(element) = elements.element()? {
        match element.name {
            b"ok" => outcome.is_ok = bson::number(received, &element) == Some(1.0),
            b"writeErrors" => outcome.refused = Some(element.value),
            _ => {}
        }
    }
    Ok(outcome)
}

/// Makes the error from `code` and `errmsg` of a document.
#[cold]
fn server_error(received: &[u8], document: Range<usize>, action: &'static str) -> WireError {
    let Ok(mut elements) = Elements::of(received, document) else {
        return broken(received, action);
    };
    let (mut code, mut message) = (None, None);
    while let Ok(Some(element)) = elements.element() {
        match element.name {
            b"code" => code = bson::number(received, &element),
            b"errmsg" if element.kind == TEXT => message = bson::text(received, &element),
            _ => {}
        }
    }
    match (code, message) {
        (None, None) => broken(received, action),
        (code, message) => WireError::Server {
            code: code.unwrap_or_default().to_string(),
            message: printable(message.unwrap_or_default()),
        },
    }
}

#[cold]
pub(super) fn broken(received: &[u8], action: &'static str) -> WireError {
    let found = received.get(FRONT_BYTES..).unwrap_or_default();
    WireError::malformed(PROTOCOL, action, "a document with the requested fields", found)
}

/// The document of an answer, without the message around it.
#[derive(Debug)]
pub(super) struct Answer(pub(super) Vec<u8>);

impl Answer {
    /// Follows a path of names into nested documents; `None` if a name is missing.
    pub(super) fn at(&self, names: &[&str]) -> Option<Element<'_>> {
        let mut part = 0..self.0.len();
        let mut found = None;
        for name in names {
            let element = Elements::of(&self.0, part).ok()?.named(name).ok()??;
            part = element.value.clone();
            found = Some(element);
        }
        found
    }

    pub(super) fn number(&self, names: &[&str]) -> Option<f64> {
        bson::number(&self.0, &self.at(names)?)
    }

    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        let found = self.at(names)?;
        bson::text(&self.0, &found).map(printable)
    }

    pub(super) fn binary(&self, names: &[&str]) -> Option<&[u8]> {
        let found = self.at(names)?;
        bson::binary(&self.0, &found)
    }

    /// Returns the elements of the document or array at this path; empty if the path does not exist.
    pub(super) fn each(&self, names: &[&str]) -> Vec<Element<'_>> {
        let part = self.at(names).map_or(0..0, |it| it.value);
        let mut found = Vec::new();
        if let Ok(mut elements) = Elements::of(&self.0, part) {
            while let Ok(Some(element)) = elements.element() {
                found.push(element);
            }
        }
        found
    }
}
