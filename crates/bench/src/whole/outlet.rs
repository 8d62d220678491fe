//! The last part of a command's stderr, kept in a bounded buffer for the error message.
//!
//! The pipe is emptied while the command runs, so the command never waits for looptax.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// At most this many bytes are kept, which is several screens of text.
const KEPT_BYTES: usize = 8 * 1024;
const SHOWN_LINES: usize = 6;

pub(super) struct Outlet {
    /// `None` once the other end is closed.
    pipe: Option<File>,
    kept: Vec<u8>,
}

impl Outlet {
    /// Takes ownership of our end of the pipe.
    pub(super) fn new(pipe: OwnedFd) -> io::Result<Self> {
        let flags = fcntl_getfl(&pipe)?;
        fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
        Ok(Self { pipe: Some(pipe.into()), kept: Vec::new() })
    }

    /// Returns the descriptor to wait on; `None` if no more output can arrive.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads the available output without waiting for more.
    pub(super) fn drain(&mut self) {
        let mut part = [0; 4096];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut part) {
                Ok(n_bytes @ 1..) => self.keep(&part[..n_bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                _ => self.pipe = None,
            }
        }
    }

    fn keep(&mut self, part: &[u8]) {
        self.kept.extend_from_slice(part);
        let too_many = self.kept.len().saturating_sub(KEPT_BYTES);
        self.kept.drain(..too_many);
    }

    /// Returns the last lines, each indented, without control characters for the terminal.
    pub(super) fn last_lines(&mut self) -> String {
        self.drain();
        let text = String::from_utf8_lossy(&self.kept);
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.replace(char::is_control, " "))
            .filter(|line| !line.trim().is_empty())
            .map(|line| format!("  {line}"))
            .collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn outlet() -> (Outlet, File) {
        let (ours, theirs) = io::pipe().unwrap();
        (Outlet::new(ours.into()).unwrap(), OwnedFd::from(theirs).into())
    }

    #[test]
    fn the_last_lines_are_kept_without_control_characters() {
        let (mut outlet, mut theirs) = outlet();
        for number in 0..2_000 {
            writeln!(theirs, "line {number}").unwrap();
            outlet.drain();
        }
        write!(theirs, "\n\x1b[2Jthe end").unwrap();
        let said = outlet.last_lines();
        assert!(said.starts_with("  line 1995\n"), "{said}");
        assert!(said.ends_with("\n   [2Jthe end"), "{said}");
        assert!(outlet.kept.len() <= KEPT_BYTES);
    }

    #[test]
    fn a_closed_pipe_is_not_waited_on() {
        let (mut outlet, theirs) = outlet();
        assert!(outlet.fd().is_some());
        drop(theirs);
        outlet.drain();
        assert!(outlet.fd().is_none());
        assert_eq!(outlet.last_lines(), "");
    }
}
