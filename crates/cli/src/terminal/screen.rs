//! A screen that is redrawn again and again, like the screen of `top`.
//!
//! On a terminal the text is shown on the alternate screen, so that the earlier text comes back at the end. Otherwise
//! each text is printed after the previous text. When a screen is dropped, it is closed, also in a panic.

use std::fmt::Write;
use std::io::{self, IsTerminal};

use super::{data, data_while_read, size_of};

/// Opens the alternate screen and hides the cursor.
pub(super) const OPEN: &str = "\u{1b}[?1049h\u{1b}[?25l";
pub(super) const CLOSE: &str = "\u{1b}[?25h\u{1b}[?1049l";
const HOME: &str = "\u{1b}[H";
const REST_OF_LINE: &str = "\u{1b}[K";
const REST_OF_SCREEN: &str = "\u{1b}[J";

pub(crate) struct Screen {
    is_terminal: bool,
}

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        let is_terminal = io::stdout().is_terminal();
        if is_terminal {
            data(OPEN)?;
        }
        Ok(Self { is_terminal })
    }

    /// Replaces the shown text. If some lines do not fit into the window, shows how many. Returns whether the reader of
    /// stdout still exists.
    pub(crate) fn show(&mut self, text: &str) -> io::Result<bool> {
        if !self.is_terminal {
            return data_while_read(&format!("{text}\n"));
        }
        let n_rows = size_of(io::stdout()).map_or(usize::MAX, |(_, rows)| rows);
        data_while_read(&drawn(text, n_rows))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.is_terminal {
            // If this fails, the error cannot be reported anywhere.
            let _ = data(CLOSE);
        }
    }
}

fn drawn(text: &str, n_rows: usize) -> String {
    let n_lines = text.lines().count();
    let n_shown = if n_lines > n_rows { n_rows.saturating_sub(1) } else { n_lines };
    let mut drawn = String::from(HOME);
    for (idx, line) in text.lines().take(n_shown).enumerate() {
        let end = if idx + 1 == n_rows { "" } else { "\r\n" };
        let _ = write!(drawn, "{line}{REST_OF_LINE}{end}");
    }
    if n_shown < n_lines {
        let n_more = n_lines - n_shown;
        let _ = write!(drawn, "({n_more} more lines; enlarge the window to see them){REST_OF_LINE}");
    }
    drawn.push_str(REST_OF_SCREEN);
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_nothing_scrolls() {
        let text = "one\ntwo\nthree\n";
        let all = drawn(text, 3);
        assert!(all.contains("three") && !all.contains("more"));
        assert_eq!(all.matches("\r\n").count(), 2);
        let cut = drawn(text, 2);
        assert!(cut.contains("one") && !cut.contains("two"), "{cut:?}");
        assert!(cut.contains("(2 more lines"), "{cut:?}");
        assert_eq!(cut.matches("\r\n").count(), 1);
    }
}
