//! A stream that is read only as long as a caller allows it: a limit on each single wait does not stop a peer that
//! sends a byte now and then.

use std::io::{self, Read, Write};

/// A stream, and a function that says whether it may still be read.
pub struct Limited<S, F> {
    stream: S,
    goes_on: F,
}

impl<S, F: Fn() -> bool> Limited<S, F> {
    /// `goes_on` is called before each read; if it returns false, the read fails with [`io::ErrorKind::TimedOut`].
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
