//! Waits for bytes from a peer, until a signal arrives.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use looptax_host::waiting;
use rustix::event::PollFlags;

/// A stream that stops waiting for its peer after a signal, or after a time limit without data.
pub(crate) struct Stoppable<S> {
    pub(crate) stream: S,
    pub(crate) limit: Duration,
}

impl<S: Read + AsFd> Read for Stoppable<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !waiting::until_ready(&self.stream, PollFlags::IN, Some(self.limit))? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.read(buffer)
    }
}

impl<S: Write> Write for Stoppable<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
