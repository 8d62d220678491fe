//! A statement that is sent as text: it is divided at its placeholders, and its values are quoted.

use super::{Bound, Values};

/// A statement's text between its placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pieces(Vec<Vec<u8>>);

impl Pieces {
    /// Divides `sql` at every `?`. Callers pass only looptax's own statements, and none of these has a `?` inside a
    /// literal.
    pub fn split(sql: &str) -> Self {
        Self(sql.split('?').map(|piece| piece.as_bytes().to_vec()).collect())
    }

    /// Writes the text with each value in place of its placeholder.
    pub fn write(&self, values: &Values, out: &mut Vec<u8>, mut write_value: impl FnMut(Bound<'_>, &mut Vec<u8>)) {
        let mut values = values.iter();
        for (idx, piece) in self.0.iter().enumerate() {
            if idx > 0
                && let Some(value) = values.next()
            {
                write_value(value, out);
            }
            out.extend_from_slice(piece);
        }
    }
}

/// The characters that must be escaped in a quoted literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// Only the quote itself (standard SQL, PostgreSQL with `standard_conforming_strings`).
    Quote,
    /// The quote and the backslash (MySQL without `NO_BACKSLASH_ESCAPES`).
    Backslash,
}

/// Appends `text` as a quoted literal.
pub fn quote(text: &[u8], escapes: Escapes, out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in text {
        if byte == b'\'' || (byte == b'\\' && escapes == Escapes::Backslash) {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_placeholders_were() {
        let mut values = Values::default();
        values.push_number(-3);
        values.push_text(|text| text.extend_from_slice(b"it's \\"));
        let mut out = b"> ".to_vec();
        Pieces::split("UPDATE t SET c=?, k=k+1 WHERE id=?").write(&values, &mut out, |value, out| match value {
            Bound::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Bound::Text(text) => quote(text, Escapes::Backslash, out),
            Bound::Sql(_) | Bound::Null => {}
        });
        assert_eq!(String::from_utf8(out).unwrap(), "> UPDATE t SET c=-3, k=k+1 WHERE id='it''s \\\\'");
    }
}
