//! The abilities of the reader's terminal, and the cleaning of text from outside.

use crate::format::Text;

/// Minimum width for which text is laid out; a narrower terminal wraps the lines itself.
pub(super) const LEAST_WIDTH: usize = 60;

/// The abilities of the reader's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Number of columns; if it is below 60, the report is laid out for 60.
    pub width: usize,
    /// Whether to use colours. Colour is never the only difference.
    pub color: bool,
    /// Whether the terminal shows `µ` and `±`; otherwise everything is ASCII.
    pub unicode: bool,
}

/// Cleans a text of several lines from outside; each line is cleaned in the same way as a name in a report.
pub fn cleaned(text: &str, style: Style) -> String {
    let lines = text.lines().map(|line| style.text().clean(line) + "\n");
    lines.collect()
}

impl Style {
    pub(crate) fn text(self) -> Text {
        Text { is_unicode: self.unicode }
    }
}
