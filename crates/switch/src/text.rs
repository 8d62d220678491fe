//! Reads a file's bytes as text and writes the text back as bytes, with the same byte order mark and encoding.

use std::path::{Path, PathBuf};

use looptax_advise::app::{Rewrite, rewritten};

use crate::SwitchError;
use crate::file::Original;
use crate::work::Edited;

/// The byte order mark: three bytes that some editors write at the start of a file.
const MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) named: PathBuf,
    pub(crate) original: Original,
    encoding: Encoding,
    pub(crate) content: String,
}

impl Text {
    /// Reads a file as text.
    ///
    /// # Errors
    /// The same as [`Original::read`].
    pub(crate) fn read(named: &Path) -> Result<Self, SwitchError> {
        let original = Original::read(named)?;
        let (encoding, content) = Encoding::read(original.bytes());
        Ok(Self { named: named.to_owned(), original, encoding, content })
    }

    /// Returns the encoding's name if the bytes are not UTF-8; each byte then counts as one character.
    pub(crate) fn encoding(&self) -> Option<&'static str> {
        self.encoding.is_bytes.then_some("ISO-8859-1")
    }

    /// Returns the file with these changes; `None` if the changes cannot be written in the file's encoding.
    pub(crate) fn edited(self, rewrites: &[Rewrite]) -> Option<Edited> {
        let new = rewritten(&self.content, rewrites)?;
        Some(Edited { new: self.encoding.write(&new)?, original: self.original })
    }
}

/// How a file's bytes become text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Encoding {
    has_mark: bool,
    /// Whether each byte is read as one character, because the bytes are not UTF-8. This is safe: names and punctuation
    /// of settings are ASCII in every common encoding, and all other bytes are written back unchanged.
    is_bytes: bool,
}

impl Encoding {
    /// Returns the encoding and the text of these bytes, without the byte order mark.
    fn read(bytes: &[u8]) -> (Self, String) {
        let body = bytes.strip_prefix(MARK);
        let has_mark = body.is_some();
        let body = body.unwrap_or(bytes);
        let found = std::str::from_utf8(body).map(str::to_owned);
        let encoding = Self { has_mark, is_bytes: found.is_err() };
        let byte_for_byte = |_| body.iter().map(|byte| char::from(*byte)).collect();
        (encoding, found.unwrap_or_else(byte_for_byte))
    }

    /// Returns the bytes of a text; `None` if the encoding cannot express one of the text's characters.
    fn write(self, text: &str) -> Option<Vec<u8>> {
        let mut bytes = if self.has_mark { MARK.to_vec() } else { Vec::new() };
        if self.is_bytes {
            for sign in text.chars() {
                bytes.push(u8::try_from(sign).ok()?);
            }
        } else {
            bytes.extend(text.as_bytes());
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_comes_back_byte_for_byte() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [&b"a=b\r\n"[..], b"\xef\xbb\xbf[a]\n", "ä=ü".as_bytes(), &all, b""] {
            let (encoding, text) = Encoding::read(bytes);
            assert_eq!(encoding.write(&text).as_deref(), Some(bytes));
        }
        let (encoding, text) = Encoding::read(b"caf\xe9 = 1");
        assert_eq!(text, "caf\u{e9} = 1");
        assert_eq!(encoding.write("\u{20ac}"), None);
    }
}
