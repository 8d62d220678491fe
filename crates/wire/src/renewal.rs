//! How the next request is made from the previous one.
//!
//! A load engine has many connections. Between two requests of a connection, the requests of the other connections push
//! its request out of the CPU cache. Therefore bytes that stay the same are not written again: an untouched byte costs
//! nothing.

use crate::Draws;

/// Number of digits of a key that is written as text: enough for 10^12 keys, and every key has the same length.
pub(crate) const KEY_DIGITS: usize = 12;

/// The change that turns a request into the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// The request has to be written again.
    Anew,
    /// No change: the bytes of all requests are the same.
    Same,
    /// The next key is written into the request.
    Key {
        /// The byte of the request at which the key begins.
        at: u16,
        form: KeyForm,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// The key's low 32 bits, most significant byte first.
    Int4,
    /// All 64 bits of the key, most significant byte first.
    Int8,
    Digits,
}

impl Renewal {
    /// Returns the change that writes the next key at this position. If the position does not fit into 16 bits, returns
    /// `Anew`: the request is written again.
    pub(crate) fn key(at: usize, form: KeyForm) -> Self {
        u16::try_from(at).map_or(Self::Anew, |at| Self::Key { at, form })
    }

    /// Turns the previous request, in `request`, into the next request. Returns false if the request has to be written
    /// again.
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
    /// Writes a key at the start of `place`.
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
