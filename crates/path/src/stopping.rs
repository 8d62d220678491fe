//! Ctrl-C while a connection waits for its peer.
//!
//! A signal interrupts the call that waits; whether it is made again is decided here. What was started has still to
//! be cleared up, by connections that wait as ever.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

static HAS_STOPPED: AtomicBool = AtomicBool::new(false);

/// From now on a wait that a signal interrupts ends with an error.
pub fn stop_waiting() {
    HAS_STOPPED.store(true, Ordering::Relaxed);
}

/// From now on waits go on after a signal: for whoever clears up.
pub fn wait_again() {
    HAS_STOPPED.store(false, Ordering::Relaxed);
}

/// Whether to make a call again that ended so; the error, where not.
pub(crate) fn go_on(errno: Errno) -> io::Result<()> {
    match errno {
        Errno::INTR if HAS_STOPPED.load(Ordering::Relaxed) => {
            Err(io::Error::other("stopped by a signal"))
        }
        Errno::INTR => Ok(()),
        errno => Err(errno.into()),
    }
}
