//! The connections that `check` finds in the text of a file in a source tree, and the lines that `check` proposes for
//! this file.
//!
//! The crate `looptax-switch` finds the connections, and the crate `looptax-report` prints them. Like every record,
//! this form holds no password.

use super::code::PointCode;

/// A file with its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The file's path relative to the given folder, as a URI. If the file is not below that folder: its absolute URI.
    pub uri: String,
    /// The name of the file's encoding, if it is not UTF-8.
    pub encoding: Option<&'static str>,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub code: PointCode,
    pub level: FindingLevel,
    /// The message for a person.
    pub message: String,
    pub region: Region,
    /// The replacements that switch the connection to the socket; empty if nothing is to be written.
    pub fix: Vec<Replacement>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingLevel {
    /// The connection does not work as it is configured.
    Error,
    /// The connection uses TCP although it could use a socket.
    Warning,
    /// The transport is not known, or a person has to make the change.
    Note,
}

/// A part of a text; `end` is the position after the last character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    pub start: TextPlace,
    pub end: TextPlace,
}

/// A position in a text: the line and the column, both counted from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPlace {
    pub line: usize,
    pub column: usize,
}

/// A part of a text, and the text that replaces it. If the part is empty, the new text is inserted at this position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    pub region: Region,
    pub text: String,
}

impl Region {
    /// Returns the part of the text that has these bytes; `None` if an end is inside a character.
    pub fn of(text: &str, bytes: &std::ops::Range<usize>) -> Option<Self> {
        Some(Self { start: TextPlace::of(text, bytes.start)?, end: TextPlace::of(text, bytes.end)? })
    }
}

impl TextPlace {
    fn of(text: &str, byte: usize) -> Option<Self> {
        let before = text.get(..byte)?;
        let start = before.rfind('\n').map_or(0, |it| it + 1);
        let line = before.bytes().filter(|it| *it == b'\n').count() + 1;
        Some(Self { line, column: before[start..].chars().count() + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters_and_lines_end_at_line_feeds() {
        let text = "a\r\nä=ü\n";
        let place = |line, column| TextPlace { line, column };
        assert_eq!(Region::of(text, &(5..8)), Some(Region { start: place(2, 2), end: place(2, 4) }));
        assert_eq!(Region::of(text, &(text.len()..text.len())).map(|it| it.start), Some(place(3, 1)));
        assert_eq!(Region::of(text, &(4..5)), None);
    }
}
