//! The part of BSON that commands and their answers need. Documents are written as bytes, and read without being
//! copied.
//!
//! Runs in the measured loop: reading neither copies nor allocates, and looks into a nested document only if the caller
//! requests it. Lengths that a peer states are not trusted: each length has to fit into the received bytes. Called by
//! all files in this folder.
//!
//! # Source
//! bsonspec.org, version 1.1.

use std::ops::Range;

/// Types of the elements that looptax reads.
pub(super) const DOUBLE: u8 = 0x01;
pub(super) const TEXT: u8 = 0x02;
pub(super) const DOCUMENT: u8 = 0x03;
pub(super) const ARRAY: u8 = 0x04;
pub(super) const BINARY: u8 = 0x05;
const OBJECT_ID: u8 = 0x07;
pub(super) const BOOL: u8 = 0x08;
pub(super) const INT32: u8 = 0x10;
pub(super) const INT64: u8 = 0x12;

/// Number of bytes in a document without elements: its length and a zero byte.
pub(super) const LEAST_BYTES: usize = 5;
pub(super) const ID_BYTES: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element<'a> {
    /// The element's name; in an array, its index.
    pub(super) name: &'a [u8],
    pub(super) kind: u8,
    /// The position of the element's value in the bytes from which the document is read.
    pub(super) value: Range<usize>,
}

/// Iterates over the elements of a document inside `bytes`.
#[derive(Debug, Clone)]
pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Elements<'a> {
    /// Returns the elements of the document in this part of `bytes`. The length that the document states must be the
    /// length of the part.
    #[inline]
    pub(super) fn of(bytes: &'a [u8], part: Range<usize>) -> Result<Self, Broken> {
        let own = bytes.get(part.clone()).ok_or(Broken)?;
        if own.len() < LEAST_BYTES || length_at(own, 0)? != own.len() || own.last() != Some(&0) {
            return Err(Broken);
        }
        Ok(Self { bytes, at: part.start + 4, end: part.end - 1 })
    }

    /// Returns the next element; `None` after the last.
    #[inline]
    pub(super) fn element(&mut self) -> Result<Option<Element<'a>>, Broken> {
        if self.at == self.end {
            return Ok(None);
        }
        let own = &self.bytes[..self.end];
        let kind = own[self.at];
        let name_at = self.at + 1;
        let name = cstring(&own[name_at..])?;
        let value_at = name_at + name.len() + 1;
        let n_bytes = value_bytes(kind, &own[value_at..])?;
        let end = value_at.checked_add(n_bytes).ok_or(Broken)?;
        if end > self.end {
            return Err(Broken);
        }
        self.at = end;
        Ok(Some(Element { name, kind, value: value_at..end }))
    }

    /// Returns the next element with this name; elements before it are skipped.
    #[inline]
    pub(super) fn named(&mut self, name: &str) -> Result<Option<Element<'a>>, Broken> {
        while let Some(element) = self.element()? {
            if element.name == name.as_bytes() {
                return Ok(Some(element));
            }
        }
        Ok(None)
    }
}

/// Returns the bytes before the first zero.
#[inline]
fn cstring(bytes: &[u8]) -> Result<&[u8], Broken> {
    let n = bytes.iter().position(|byte| *byte == 0).ok_or(Broken)?;
    Ok(&bytes[..n])
}

/// Reads a length, which must not be negative.
#[inline]
fn length_at(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    let bytes = bytes.get(at..at + 4).ok_or(Broken)?;
    let stated = i32::from_le_bytes(bytes.try_into().expect("four were taken"));
    usize::try_from(stated).map_err(|_| Broken)
}

/// Returns the length of the value of this type at the start of `bytes`.
#[inline]
fn value_bytes(kind: u8, bytes: &[u8]) -> Result<usize, Broken> {
    Ok(match kind {
        // Values without bytes: undefined, null, the min key and the max key.
        0x06 | 0x0a | 0x7f | 0xff => 0,
        BOOL => 1,
        INT32 => 4,
        // DOUBLE, INT64, and two kinds of times: a date and a replica set's timestamp.
        DOUBLE | INT64 | 0x09 | 0x11 => 8,
        OBJECT_ID => ID_BYTES,
        // DECIMAL128.
        0x13 => 16,
        // TEXT, code and symbols.
        TEXT | 0x0d | 0x0e => 4 + length_at(bytes, 0)?,
        // A reference to a document (DBPointer).
        0x0c => 4 + length_at(bytes, 0)? + ID_BYTES,
        DOCUMENT | ARRAY => length_at(bytes, 0)?.max(LEAST_BYTES),
        // Code with a scope.
        0x0f => length_at(bytes, 0)?.max(4),
        BINARY => 5 + length_at(bytes, 0)?,
        // A regular expression: its pattern and its options.
        0x0b => {
            let pattern = cstring(bytes)?.len() + 1;
            pattern + cstring(&bytes[pattern..])?.len() + 1
        }
        _ => return Err(Broken),
    })
}

/// Returns the value of an element of any numeric type; `None` if the element is not a number.
pub(super) fn number(bytes: &[u8], element: &Element<'_>) -> Option<f64> {
    let value = bytes.get(element.value.clone())?;
    Some(match element.kind {
        DOUBLE => f64::from_le_bytes(value.try_into().ok()?),
        INT32 => f64::from(i32::from_le_bytes(value.try_into().ok()?)),
        INT64 => i64::from_le_bytes(value.try_into().ok()?) as f64,
        BOOL => f64::from(u8::from(value != [0])),
        _ => return None,
    })
}

/// Returns the text of an element without its final zero; `None` if the element is not text.
pub(super) fn text<'a>(bytes: &'a [u8], element: &Element<'_>) -> Option<&'a [u8]> {
    let value = bytes.get(element.value.clone())?;
    let is_text = element.kind == TEXT;
    is_text.then(|| value.get(4..)?.strip_suffix(&[0]))?
}

/// Returns binary data; `None` if the element has another type.
pub(super) fn binary<'a>(bytes: &'a [u8], element: &Element<'_>) -> Option<&'a [u8]> {
    let value = bytes.get(element.value.clone())?;
    (element.kind == BINARY).then(|| value.get(5..))?
}

/// A document that is being written. Names and texts come from looptax and contain no zero bytes.
#[derive(Debug, Clone)]
pub(super) struct Document(Vec<u8>);

impl Document {
    pub(super) fn new() -> Self {
        Self(vec![0; 4])
    }

    pub(super) fn int(self, name: &str, value: i32) -> Self {
        self.element(INT32, name, &[&value.to_le_bytes()])
    }

    pub(super) fn bool(self, name: &str, value: bool) -> Self {
        self.element(BOOL, name, &[&[u8::from(value)]])
    }

    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.element(TEXT, name, &[&length(value.len() + 1), value.as_bytes(), &[0]])
    }

    pub(super) fn binary(self, name: &str, value: &[u8]) -> Self {
        self.element(BINARY, name, &[&length(value.len()), &[0], value])
    }

    pub(super) fn id(self, name: &str, value: &[u8; ID_BYTES]) -> Self {
        self.element(OBJECT_ID, name, &[value])
    }

    pub(super) fn document(self, name: &str, value: Self) -> Self {
        self.element(DOCUMENT, name, &[&value.finish()])
    }

    pub(super) fn array(self, name: &str, values: impl IntoIterator<Item = Self>) -> Self {
        let mut array = Self::new();
        for (idx, value) in values.into_iter().enumerate() {
            array = array.document(&idx.to_string(), value);
        }
        self.element(ARRAY, name, &[&array.finish()])
    }

    /// Returns the bytes of the document.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.0.push(0);
        let n_bytes = length(self.0.len());
        self.0[..4].copy_from_slice(&n_bytes);
        self.0
    }

    fn element(mut self, kind: u8, name: &str, value: &[&[u8]]) -> Self {
        self.0.push(kind);
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(0);
        for part in value {
            self.0.extend_from_slice(part);
        }
        self
    }
}

fn length(n_bytes: usize) -> [u8; 4] {
    let n_bytes = i32::try_from(n_bytes).expect("our own documents are small");
    n_bytes.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_come_out() {
        // bsonspec.org, "Examples": {"hello": "world"}.
        let hello = Document::new().text("hello", "world").finish();
        assert_eq!(hello, b"\x16\0\0\0\x02hello\0\x06\0\0\0world\0\0");
        let read = Elements::of(&hello, 0..hello.len()).unwrap().element();
        let element = read.unwrap().unwrap();
        assert_eq!((element.name, text(&hello, &element)), (&b"hello"[..], Some(&b"world"[..])));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let inner = Document::new().bool("yes", true).binary("b", &[1, 2]);
        let bytes = Document::new().int("i", -7).id("_id", &[9; ID_BYTES]).array("list", [inner]).finish();
        let mut elements = Elements::of(&bytes, 0..bytes.len()).unwrap();
        let first = elements.element().unwrap().unwrap();
        assert_eq!(number(&bytes, &first), Some(-7.0));
        let list = elements.named("list").unwrap().unwrap();
        let mut list = Elements::of(&bytes, list.value).unwrap();
        let inner = list.named("0").unwrap().unwrap();
        let mut inner = Elements::of(&bytes, inner.value).unwrap();
        let yes = inner.element().unwrap().unwrap();
        assert_eq!(number(&bytes, &yes), Some(1.0));
        let b = inner.element().unwrap().unwrap();
        assert_eq!(binary(&bytes, &b), Some(&[1, 2][..]));
        assert_eq!(inner.element(), Ok(None));
    }

    #[track_caller]
    fn check_broken(bytes: &[u8]) {
        let read = || {
            let mut elements = Elements::of(bytes, 0..bytes.len())?;
            while elements.element()?.is_some() {}
            Ok(())
        };
        assert_eq!(read(), Err(Broken), "{bytes:?}");
    }

    #[test]
    fn lengths_that_lie_are_found() {
        check_broken(b"");
        check_broken(b"\x05\0\0\0\x01");
        check_broken(b"\x06\0\0\0\0");
        check_broken(b"\xff\xff\xff\xff\0");
        check_broken(b"\x0c\0\0\0\x02a\0\xff\xff\xff\x7f\0");
        check_broken(b"\x0c\0\0\0\x02a\0\xff\xff\xff\xff\0");
        check_broken(b"\x08\0\0\0\x08a\0\0");
        check_broken(b"\x08\0\0\0\x77a\0\0");
        check_broken(b"\x0a\0\0\0\x0babcd\0");
        check_broken(b"\x07\0\0\0\x0aa\0");
    }
}
