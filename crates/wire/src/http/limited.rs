//! A stream that is read from only as long as somebody waits for it: limits on a single wait do not end a peer that sends a
//! byte now and then.

use std::io::{self, Read, Write};

/// A stream, and whether it may still be read from.
pub struct Limited<S, F> {
    stream: S,
    goes_on: F,
}

impl<S, F: Fn() -> bool> Limited<S, F> {
    /// `goes_on` is asked before each read, which fails with [`io::ErrorKind::TimedOut`] once it says no.
    pub const fn new(stream: S, goes_on: F) -> Self {
        Self { stream, goes_on }
    }
}

impl<S: Read, F: Fn() -> bool> Read for Limited<S, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.goes_on)() { self.stream.read(buffer) } else { Err(io::ErrorKind::TimedOut.into()) }
    }
}

impl<S: Write, F> Write for Limited<S, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
