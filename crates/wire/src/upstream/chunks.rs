//! The chunks of an answer whose length is not known at its beginning.
//!
//! Runs in the measured loop: no function allocates (except for an error), locks or makes a system call.

use super::fault::malformed;
use crate::WireError;

/// Highest number of hexadecimal digits in a chunk's length, which is enough for 4 GiB.
const MOST_DIGITS: usize = 8;
/// Highest number of bytes in a line between chunks: a length with its extensions, or a trailer.
const MOST_LINE_BYTES: usize = 4096;

/// The position in the chunks of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunks {
    /// The next bytes are a line with a length.
    Length,
    /// The next bytes are this many bytes of a chunk, including its line end.
    Data(u64),
    /// The next bytes are trailers, and then an empty line.
    Trailers,
}

/// The result of processing the received bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// Number of received bytes, from the start, that are no longer needed.
    pub(super) n_used: usize,
    /// Number of body bytes among the bytes that are no longer needed.
    pub(super) n_body: u64,
    pub(super) is_end: bool,
}

impl Chunks {
    /// Processes the bytes that have arrived.
    ///
    /// # Errors
    /// [`WireError::Malformed`] for bytes that are not chunks.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Taken, WireError> {
        let mut taken = Taken { n_used: 0, n_body: 0, is_end: false };
        loop {
            let rest = &bytes[taken.n_used..];
            match *self {
                Self::Data(n_left) => {
                    let n_here = n_left.min(rest.len() as u64);
                    // The line end is not part of the body.
                    taken.n_body += n_here.min(n_left.saturating_sub(2));
                    taken.n_used += n_here as usize;
                    if n_here < n_left {
                        *self = Self::Data(n_left - n_here);
                        return Ok(taken);
                    }
                    *self = Self::Length;
                }
                Self::Length | Self::Trailers => {
                    let Some(line) = line(rest)? else {
                        return Ok(taken);
                    };
                    taken.n_used += line.len() + 2;
                    match *self {
                        Self::Trailers if line.is_empty() => {
                            *self = Self::Length;
                            taken.is_end = true;
                            return Ok(taken);
                        }
                        Self::Trailers => {}
                        _ => {
                            *self = match length(line)? {
                                0 => Self::Trailers,
                                n => Self::Data(n + 2),
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the line at the start of `bytes`, without its line end; `None` if the line is not complete.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, WireError> {
    let front = &bytes[..bytes.len().min(MOST_LINE_BYTES)];
    match front.windows(2).position(|pair| pair == b"\r\n") {
        Some(at) => Ok(Some(&front[..at])),
        None if front.len() == MOST_LINE_BYTES => Err(malformed("a chunk's length", front)),
        None => Ok(None),
    }
}

/// Returns the hexadecimal number at the start of `line`; text after a semicolon is ignored.
fn length(line: &[u8]) -> Result<u64, WireError> {
    let number = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let number = number.trim_ascii();
    let digits = Some(number).filter(|it| !it.is_empty() && it.len() <= MOST_DIGITS);
    let value = digits.and_then(|digits| {
        digits.iter().try_fold(0_u64, |value, digit| {
            let digit = char::from(*digit).to_digit(16)?;
            Some(value * 16 + u64::from(digit))
        })
    });
    value.ok_or_else(|| malformed("a chunk's length", line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &[u8] = b"5\r\nhello\r\n1a;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nA: b\r\n\r\n";

    #[test]
    fn chunks_are_counted_in_pieces_of_any_size() {
        for n_piece in 1..=WHOLE.len() {
            let mut chunks = Chunks::Length;
            let (mut kept, mut n_body, mut is_end) = (Vec::new(), 0, false);
            for piece in WHOLE.chunks(n_piece) {
                assert!(!is_end);
                kept.extend_from_slice(piece);
                let taken = chunks.take(&kept).unwrap();
                kept.drain(..taken.n_used);
                n_body += taken.n_body;
                is_end = taken.is_end;
            }
            assert_eq!((n_body, is_end, kept.len()), (31, true, 0), "{n_piece}");
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for text in ["x\r\n", "\r\n", "123456789\r\n", "-1\r\n"] {
            assert!(Chunks::Length.take(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Chunks::Length.take(&[b'1'; 5000]).is_err());
    }
}
