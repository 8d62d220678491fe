//! The connections in a file of a source tree, found only from its text, and the lines that would be written there.
//!
//! Found by the switch's room, printed by the report. Like every record, it holds no password.

use super::code::PointCode;

/// A file with its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path relative to the given folder, as a URI; an absolute URI if it is not below that folder.
    pub uri: String,
    /// The encoding's name, if it is not UTF-8.
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
    /// The replacements that switch it to the socket; empty if nothing is written.
    pub fix: Vec<Replacement>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingLevel {
    /// The connection does not work as it is configured.
    Error,
    /// The connection uses TCP although it could use a socket.
    Warning,
    /// The transport is not known, or the change is left to people.
    Note,
}

/// A part of a text, counted from 1; the end is the position after its last character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    pub start: TextPlace,
    pub end: TextPlace,
}

/// A line, and a column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPlace {
    pub line: usize,
    pub column: usize,
}

/// A part of a text and the text that replaces it; an empty part is a position at which text is inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    pub region: Region,
    pub text: String,
}

impl Region {
    /// The position of these bytes in a text; `None` if they cut a character.
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
