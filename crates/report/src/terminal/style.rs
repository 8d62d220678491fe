//! The abilities of the reader's terminal, and cleaning of foreign text for it.

use crate::format::Text;

/// The least width for which text is laid out; narrower terminals wrap lines by themselves.
pub(super) const LEAST_WIDTH: usize = 60;

/// The abilities of the reader's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Number of columns; below 60 the report is laid out for 60.
    pub width: usize,
    /// Whether to use colour. Colour never carries a separate meaning.
    pub color: bool,
    /// Whether the terminal shows `µ` and `±`; otherwise everything is ASCII.
    pub unicode: bool,
}

/// Cleans a foreign text with several lines, each line as strictly as a name in a report.
pub fn cleaned(text: &str, style: Style) -> String {
    let lines = text.lines().map(|line| style.text().clean(line) + "\n");
    lines.collect()
}

impl Style {
    pub(crate) fn text(self) -> Text {
        Text { is_unicode: self.unicode }
    }
}
