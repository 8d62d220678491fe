//! How the next request is made of the last one.
//!
//! A load engine has many connections, each with memory that the others have driven out of the cache: bytes that stay
//! the same are better left than written, and bytes that are not read cost nothing.

use crate::Draws;

/// Digits of a key that is written as text: room for 10^12 of them, and every key has the same length.
pub(crate) const KEY_DIGITS: usize = 12;

/// The change that turns a request into the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// It has to be written again.
    Anew,
    /// Nothing: all requests are the same bytes.
    Same,
    /// The next key is written into it.
    Key {
        /// Where it begins.
        at: u16,
        form: KeyForm,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// Its low 32 bits, the highest byte first.
    Int4,
    /// The highest byte first.
    Int8,
    Digits,
}

impl Renewal {
    /// With a key at this offset; one that is too far behind is not reached.
    pub(crate) fn key(at: usize, form: KeyForm) -> Self {
        u16::try_from(at).map_or(Self::Anew, |at| Self::Key { at, form })
    }

    /// Turns `request`, which is the last one, into the next; returns false if it has to be written again.
    #[inline]
    pub fn apply(self, draws: &mut impl Draws, request: &mut [u8]) -> bool {
        match self {
            Self::Anew => return false,
            Self::Same => {}
            Self::Key { at, form } => form.write(draws.key(), &mut request[usize::from(at)..]),
        }
        true
    }
}

impl KeyForm {
    /// Writes a key at the front of `place`.
    #[inline]
    pub(crate) fn write(self, key: u64, place: &mut [u8]) {
        match self {
            Self::Int4 => place[..4].copy_from_slice(&(key as u32).to_be_bytes()),
            Self::Int8 => place[..8].copy_from_slice(&key.to_be_bytes()),
            Self::Digits => {
                let mut left = key;
                for digit in place[..KEY_DIGITS].iter_mut().rev() {
                    *digit = b'0' + (left % 10) as u8;
                    left /= 10;
                }
            }
        }
    }
}
