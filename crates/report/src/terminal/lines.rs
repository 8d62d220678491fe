//! Lines of text and their colours. A line that is wider than the terminal is broken between words.
//!
//! All text that is passed in has been cleaned. Colour codes are added last, so that they do not count as width.

use std::fmt::Write;

use super::style::Style;
use crate::format::GLUE;
use crate::words::Tone;

/// The meaning of a piece of text, which is shown as a colour; the words always express the meaning too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// No special meaning.
    Plain,
    Strong,
    Good,
    Loss,
    Unsure,
}

impl From<Tone> for Paint {
    fn from(tone: Tone) -> Self {
        match tone {
            Tone::Good => Self::Good,
            Tone::Loss => Self::Loss,
            Tone::Unsure => Self::Unsure,
        }
    }
}

/// The lines that have been written so far.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) style: Style,
    text: String,
    /// Headings of the columns that tables have left out for lack of space.
    left_out: Vec<&'static str>,
    /// The rows that were left out for lack of space: `3 of 15 servers`.
    left_out_rows: Vec<String>,
}

impl Lines {
    pub(super) fn new(style: Style) -> Self {
        Self { style, text: String::new(), left_out: Vec::new(), left_out_rows: Vec::new() }
    }

    /// Adds a line without breaking it, however long it is, so that the reader can copy it as a whole.
    pub(super) fn verbatim(&mut self, line: &str) {
        self.text.push_str(&line.trim_end().replace(GLUE, " "));
        self.text.push('\n');
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Adds a heading, broken to the terminal's width.
    pub(super) fn heading(&mut self, indent: usize, line: &str) {
        self.broken(indent, indent + 2, line, Paint::Strong);
    }

    /// Adds a line; if it is broken, its further lines have the same indentation.
    pub(super) fn wrapped(&mut self, indent: usize, line: &str) {
        self.broken(indent, indent, line, Paint::Plain);
    }

    /// Adds a line; if it is broken, its further lines begin at column `rest`, below the text after the first word.
    pub(super) fn hanging(&mut self, rest: usize, line: &str) {
        self.broken(0, rest, line, Paint::Plain);
    }

    /// Adds a line; if it is broken, its further lines are indented by two more columns, so that items can be
    /// distinguished.
    pub(super) fn item(&mut self, indent: usize, line: &str) {
        self.broken(indent, indent + 2, line, Paint::Plain);
    }

    fn broken(&mut self, first: usize, rest: usize, line: &str, paint: Paint) {
        let mut indent = first;
        for piece in wrap(line, self.style.width - first, self.style.width - rest) {
            let painted = self.paint(&piece, paint);
            self.verbatim(&format!("{}{painted}", " ".repeat(indent)));
            indent = rest;
        }
    }

    /// Returns the text in its colour, or unchanged if colours are off.
    pub(super) fn paint(&self, text: &str, paint: Paint) -> String {
        let code = match paint {
            Paint::Plain => return text.to_owned(),
            _ if !self.style.color => return text.to_owned(),
            Paint::Strong => "1",
            Paint::Good => "32",
            Paint::Loss => "31",
            Paint::Unsure => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Records that a table has left out these columns.
    pub(super) fn left_out(&mut self, headings: &[&'static str]) {
        let new = headings.iter().filter(|it| !self.left_out.contains(it)).copied().collect::<Vec<_>>();
        self.left_out.extend(new);
    }

    /// Whether a table has left out this column.
    pub(super) fn lacks(&self, heading: &str) -> bool {
        self.left_out.contains(&heading)
    }

    /// Whether a table has left out this column; an explanation of the column is then not needed. Also removes the
    /// column from the list of columns that were left out.
    pub(super) fn take_left_out(&mut self, heading: &str) -> bool {
        let lacks = self.lacks(heading);
        self.left_out.retain(|it| *it != heading);
        lacks
    }

    /// Writes which columns were left out, once for all tables.
    pub(super) fn tell_left_out(&mut self) {
        let them = match self.left_out.len() {
            0 => return,
            1 => "it",
            _ => "them",
        };
        let headings = std::mem::take(&mut self.left_out).join(", ");
        self.item(0, &format!("left out at this width: {headings}; --json has {them}"));
    }

    /// Returns the first `most` rows; how many rows are left out is written at the end.
    pub(super) fn first_of<'a, T>(&mut self, rows: &'a [T], most: usize, name: &str) -> &'a [T] {
        let first = &rows[..rows.len().min(most)];
        self.left_out_rows(rows.len() - first.len(), rows.len(), name);
        first
    }

    /// Records how many of all rows are not printed; `name` is the plural for these rows.
    pub(super) fn left_out_rows(&mut self, n: usize, n_all: usize, name: &str) {
        if n > 0 {
            self.left_out_rows.push(format!("{n} of {n_all} {name}"));
        }
    }

    /// Writes how many rows were left out, once for all tables.
    pub(super) fn tell_left_out_rows(&mut self) {
        let rows = std::mem::take(&mut self.left_out_rows);
        if !rows.is_empty() {
            self.item(0, &format!("left out: {}; --verbose lists all", rows.join(", ")));
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Breaks a text at spaces: the first line has at most `first` columns, each further line at most `rest`. A longer word
/// is not broken.
pub(super) fn wrap(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut pieces: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let limit = if pieces.len() == 1 { first } else { rest };
        let piece = pieces.last_mut().expect("`pieces` starts with one piece and only grows");
        if piece.is_empty() {
            piece.push_str(word);
        } else if width(piece) + 1 + width(word) <= limit {
            piece.push(' ');
            piece.push_str(word);
        } else {
            pieces.push(word.to_owned());
        }
    }
    pieces
}

/// Breaks each line of `text` at spaces to at most `columns` columns; the further lines are indented by two more
/// columns than the broken line.
pub fn fitted(text: &str, columns: usize) -> String {
    let mut fitted = String::new();
    for line in text.lines() {
        let words = line.trim_start_matches(' ');
        let indent = line.len() - words.len();
        let first = columns.saturating_sub(indent);
        for (idx, piece) in wrap(words, first, first.saturating_sub(2)).iter().enumerate() {
            let indent = if idx == 0 || piece.is_empty() { indent } else { indent + 2 };
            let _ = writeln!(fitted, "{:indent$}{piece}", "");
        }
    }
    fitted
}

/// Counts the columns of a text. Characters of double width count as one column; this only shifts columns of a table.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Returns the text, filled with spaces up to `columns`.
pub(super) fn padded(text: &str, columns: usize) -> String {
    format!("{text:columns$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_keeps_its_indent() {
        let text = "plan\n  one two three\n\n    four five";
        assert_eq!(fitted(text, 10), "plan\n  one two\n    three\n\n    four\n      five\n");
    }

    #[track_caller]
    fn check(text: &str, first: usize, rest: usize, expected: &[&str]) {
        assert_eq!(wrap(text, first, rest), expected);
    }

    #[test]
    fn breaks_at_spaces_and_nowhere_else() {
        check("one two three", 7, 5, &["one two", "three"]);
        check("one two three", 6, 9, &["one", "two three"]);
        check("unbreakable", 3, 3, &["unbreakable"]);
        check("a unbreakable b", 3, 3, &["a", "unbreakable", "b"]);
        check("", 3, 3, &[""]);
        check("a b\u{a0}c", 4, 4, &["a", "b\u{a0}c"]);
        check("µ ± µ", 5, 5, &["µ ± µ"]);
    }
}
