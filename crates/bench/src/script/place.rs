//! A place in a script: file, line, column, and the line with a caret under it.
//!
//! Used by every error of the module `script`. The text comes from the user: characters that would control the terminal
//! are escaped, and long lines are cut around the caret.

use std::fmt;
use std::ops::Range;

/// At most this many characters of a script's line are shown.
const EXCERPT_CHARS: usize = 100;
/// When a long line is cut, this many characters before the caret stay visible.
const BEFORE_CARET_CHARS: usize = 60;
/// A message repeats at most this many characters of a word.
const WORD_CHARS: usize = 40;

/// A place in a script. `Display` is `FILE:LINE:COLUMN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    file: String,
    line: usize,
    column: usize,
    excerpt: String,
}

impl Place {
    /// Returns the place of the bytes `span` in `text`. An end that is beyond the text or inside a character is moved
    /// back.
    pub(crate) fn new(file: &str, text: &str, span: &Range<usize>) -> Self {
        let start = floor(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = floor(text, span.end.min(line_end)).max(start);
        Self {
            file: printable(file, usize::MAX),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            excerpt: excerpt(&text[line_start..start], &text[start..end], &text[end..line_end]),
        }
    }

    /// Returns the name that the caller gave to the script.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the line number, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the column in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the line and, below it, carets under the place; both are indented by two columns.
    pub fn excerpt(&self) -> &str {
        &self.excerpt
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Returns a word of the script, for a message: escaped, and cut if it is long.
pub(crate) fn word(text: &str) -> String {
    printable(text, WORD_CHARS)
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn excerpt(before: &str, marked: &str, after: &str) -> String {
    let mut before: Vec<char> = printable(before, usize::MAX).chars().collect();
    if before.len() > BEFORE_CARET_CHARS {
        before.drain(..before.len() - BEFORE_CARET_CHARS);
        before.insert(0, '…');
    }
    let rest = EXCERPT_CHARS.saturating_sub(before.len());
    let marked = printable(marked, rest);
    let n_carets = marked.chars().count().max(1);
    let after = printable(after, rest.saturating_sub(n_carets).max(1));
    let blanks = " ".repeat(before.len());
    let before: String = before.into_iter().collect();
    let line = format!("{before}{marked}{after}");
    format!("  {}\n  {blanks}{}", line.trim_end(), "^".repeat(n_carets))
}

/// Returns text that is safe to print: invisible characters are escaped, a tab becomes a space, and a text of more than
/// `limit` characters is cut and ends in `…`.
fn printable(text: &str, limit: usize) -> String {
    let mut shown = String::new();
    let mut n_shown = 0;
    for found in text.chars() {
        let piece = match found {
            '"' | '\'' | '\\' => found.to_string(),
            '\t' | '\r' => " ".to_owned(),
            other => other.escape_debug().to_string(),
        };
        n_shown += piece.chars().count();
        if n_shown > limit {
            shown.push('…');
            return shown;
        }
        shown.push_str(&piece);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, span: Range<usize>, wanted: &str, excerpt: &str) {
        let place = Place::new("a.sql", text, &span);
        assert_eq!(place.to_string(), wanted);
        assert_eq!(place.excerpt(), excerpt);
    }

    #[test]
    fn points_at_the_word() {
        check("\\sett x", 0..5, "a.sql:1:1", "  \\sett x\n  ^^^^^");
        check("one\ntwo three\n", 8..13, "a.sql:2:5", "  two three\n      ^^^^^");
        check("äö x", 5..6, "a.sql:1:4", "  äö x\n     ^");
        check("\tx\r\n", 1..2, "a.sql:1:2", "   x\n   ^");
        check("ab\ncd", 1..4, "a.sql:1:2", "  ab\n   ^");
    }

    #[test]
    fn points_behind_the_end() {
        check("ab", 2..9, "a.sql:1:3", "  ab\n    ^");
        check("", 0..0, "a.sql:1:1", "  \n  ^");
        check("ä", 1..1, "a.sql:1:1", "  ä\n  ^");
    }

    #[test]
    fn escapes_what_a_terminal_would_obey_and_cuts_long_lines() {
        check("\x1b[2J!", 4..5, "a.sql:1:5", "  \\u{1b}[2J!\n           ^");
        let long = format!("{}x{}", "a".repeat(500), "b".repeat(500));
        let place = Place::new("a.sql", &long, &(500..501));
        for line in place.excerpt().lines() {
            assert!(line.chars().count() <= EXCERPT_CHARS + 4, "{line}");
        }
        assert_eq!(place.column(), 501);
        assert!(word(&long).chars().count() <= WORD_CHARS + 1);
    }
}
