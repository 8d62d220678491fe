//! A stream that can be read only as long as its caller allows it. A time limit on each single read is not enough,
//! because a peer could send a byte now and then forever.

use std::io::{self, Read, Write};

/// A stream with a function that decides whether the stream may still be read.
pub struct Limited<S, F> {
    stream: S,
    goes_on: F,
}

impl<S, F: Fn() -> bool> Limited<S, F> {
    /// Makes the stream. It calls `goes_on` before each read; if `goes_on` returns false, the read fails with
    /// [`io::ErrorKind::TimedOut`].
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
