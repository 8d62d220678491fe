//! Cuts and cleans texts from other people or programs before they are sent.
//!
//! A program can give itself any name. Text that leaves the machine is short, and contains no character that could
//! control a terminal, a page or a log; engines quote it nevertheless.

use crate::column::Value;

/// Maximum number of characters in a text: far more than a name, a version or the address of a page needs.
pub(crate) const MOST_CHARS: usize = 200;

/// Returns the text in the form in which it is sent: control characters and characters that change the writing
/// direction become spaces, and a text that is too long is cut and ends in an ellipsis.
pub(crate) fn cleaned(text: &str) -> String {
    let mut clean: String = text.chars().take(MOST_CHARS).map(harmless).collect();
    if text.chars().nth(MOST_CHARS).is_some() {
        clean.pop();
        clean.push('…');
    }
    clean
}

/// Cleans a text and makes a value from it.
pub(crate) fn text(text: &str) -> Value {
    Value::Text(cleaned(text))
}

/// Like [`text()`]; an unknown text becomes an empty text.
pub(crate) fn known(maybe: Option<&str>) -> Value {
    text(maybe.unwrap_or_default())
}

/// # Source
/// Unicode 16, UAX #9: embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069), marks (U+200E, U+200F,
/// U+061C).
fn harmless(char: char) -> char {
    let is_direction =
        matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
    let is_line = matches!(char, '\u{2028}' | '\u{2029}' | '\u{feff}');
    if char.is_control() || is_direction || is_line { ' ' } else { char }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_would_obey_is_a_blank() {
        assert_eq!(cleaned("a\0b\n\x1b[31mc\u{202e}d\u{9b}"), "a b  [31mc d ");
        assert_eq!(cleaned("'; DROP TABLE x; --"), "'; DROP TABLE x; --");
    }

    #[test]
    fn a_text_is_cut_at_its_limit() {
        let long = "é".repeat(MOST_CHARS);
        assert_eq!(cleaned(&long), long);
        let cut = cleaned(&"é".repeat(10 * MOST_CHARS));
        assert_eq!(cut.chars().count(), MOST_CHARS);
        assert!(cut.ends_with("é…"), "{cut}");
    }
}
