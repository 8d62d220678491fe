//! Reads lines from standard input, up to a maximum length, until the input ends or a signal arrives.

use std::io;
use std::mem;

use looptax_host::waiting;
use rustix::event::PollFlags;
use rustix::io::Errno;

/// Longest line: the arguments of a tool need only a few hundred bytes.
const MOST_BYTES: usize = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// The bytes that were read but not returned yet.
#[derive(Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// How many of these bytes were searched without finding the end of a line.
    n_searched: usize,
    /// Whether the rest of a line that is too long is being skipped.
    skips: bool,
}

impl Lines {
    /// Returns the next line that is not blank; `None` at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            let mut part = [0; 16 << 10];
            let stdin = io::stdin();
            match waiting::until_ready(&stdin, PollFlags::IN, None) {
                Err(_) if waiting::has_stopped() => return Ok(None),
                ready => ready?,
            };
            match rustix::io::read(&stdin, &mut part) {
                Ok(0) => return Ok(None),
                Ok(n) => self.bytes.extend_from_slice(&part[..n]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Returns the next complete line in `bytes`, or `TooLong` as soon as a line is too long; `None` if more input is
    /// needed.
    fn take(&mut self) -> Option<Line> {
        loop {
            let end = self.bytes[self.n_searched..].iter().position(|byte| *byte == b'\n');
            let Some(end) = end.map(|it| it + self.n_searched) else {
                self.n_searched = self.bytes.len();
                if self.n_searched <= MOST_BYTES {
                    return None;
                }
                self.bytes.clear();
                self.n_searched = 0;
                if mem::replace(&mut self.skips, true) {
                    return None;
                }
                return Some(Line::TooLong);
            };
            let rest = self.bytes.split_off(end + 1);
            let line = mem::replace(&mut self.bytes, rest);
            self.n_searched = 0;
            let is_blank = line.iter().all(u8::is_ascii_whitespace);
            if !mem::take(&mut self.skips) && !is_blank {
                return Some(if line.len() > MOST_BYTES { Line::TooLong } else { Line::Whole(line) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_wherever_they_are_cut() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for part in [&b"a"[..], b"b\n\n \r\nc", b"\nd\ne"] {
            lines.bytes.extend_from_slice(part);
            while let Some(line) = lines.take() {
                found.push(line);
            }
        }
        let whole = |text: &[u8]| Line::Whole(text.to_owned());
        assert_eq!(found, [whole(b"ab\n"), whole(b"c\n"), whole(b"d\n")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_named_once_and_skipped() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for part in [&vec![b'x'; MOST_BYTES + 1][..], &vec![b'x'; MOST_BYTES + 1], b"x\ny\n"] {
            lines.bytes.extend_from_slice(part);
            while let Some(line) = lines.take() {
                found.push(line);
            }
            assert!(lines.bytes.len() <= MOST_BYTES);
        }
        assert_eq!(found, [Line::TooLong, Line::Whole(b"y\n".to_vec())]);
    }
}
