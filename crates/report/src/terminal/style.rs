//! The abilities of the reader's terminal, and texts from outside made fit for it.

use crate::format::Text;

/// The least width that is laid out for; narrower terminals wrap by themselves.
pub(super) const LEAST_WIDTH: usize = 60;

/// The abilities of the reader's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns; below 60 the report is laid out for 60.
    pub width: usize,
    /// Whether to colour. Colour never carries a separate meaning.
    pub color: bool,
    /// Whether it shows `µ` and `±`; otherwise everything is ASCII.
    pub unicode: bool,
}

/// A text of several lines from outside, line by line as harmless as a name in a report.
pub fn cleaned(text: &str, style: Style) -> String {
    let lines = text.lines().map(|line| style.text().clean(line) + "\n");
    lines.collect()
}

impl Style {
    pub(crate) fn text(self) -> Text {
        Text { is_unicode: self.unicode }
    }
}
