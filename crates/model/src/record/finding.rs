//! The connections in a file of a source tree, by its text only, and the lines that would be written there.
//!
//! Found by the switch's room, printed by the report. Holds no password, as everything here.

use super::code::PointCode;

/// A file with its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path below the folder that was given, as a URI; a whole URI if it is not below it.
    pub uri: String,
    /// The encoding's name, if it is not UTF-8.
    pub encoding: Option<&'static str>,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub code: PointCode,
    pub level: FindingLevel,
    /// For a person.
    pub message: String,
    pub region: Region,
    /// The replacements that switch it to the socket; empty if nothing is written.
    pub fix: Vec<Replacement>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingLevel {
    /// It does not work as it is.
    Error,
    /// It takes TCP where a socket would do.
    Warning,
    /// It is not known, or left to people.
    Note,
}

/// A part of a text, counted from one; the end is the place behind it.
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

/// A part of a text that becomes another; an empty part is a place where something is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    pub region: Region,
    pub text: String,
}

impl Region {
    /// The place of these bytes in a text; `None` if they are not whole characters of it.
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
