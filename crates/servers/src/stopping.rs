//! The end of every wait for a starting server, once the program was asked to stop.
//!
//! The thread that receives a signal calls [`stop_starting`]; `child` looks at it while it waits, and a
//! [`Stoppable`] stream when a signal interrupts it.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static HAS_STOPPED: AtomicBool = AtomicBool::new(false);

/// From now on servers that are being started are ended, and no other is started.
pub fn stop_starting() {
    HAS_STOPPED.store(true, Ordering::Relaxed);
}

pub(crate) fn has_stopped() -> bool {
    HAS_STOPPED.load(Ordering::Relaxed)
}

/// A stream whose wait for the peer ends when a signal interrupts it and the program was asked to stop.
pub(crate) struct Stoppable<S>(pub(crate) S);

fn unless_stopped<T>(outcome: io::Result<T>) -> io::Result<T> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::Interrupted && has_stopped() => {
            Err(io::Error::other("stopped by a signal"))
        }
        outcome => outcome,
    }
}

impl<S: Read> Read for Stoppable<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        unless_stopped(self.0.read(buffer))
    }
}

impl<S: Write> Write for Stoppable<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_stopped(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_stopped(self.0.flush())
    }
}
