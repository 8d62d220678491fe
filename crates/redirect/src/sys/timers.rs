//! Timers (`setitimer`): they continue when a process executes a program, and a forked child does not get them.

use std::io;

use super::checked;

/// Source: getitimer(2).
const KINDS: [i32; 3] = [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF];

/// The remaining time of each timer, and its interval.
#[derive(Clone, Copy)]
pub(crate) struct Timers([libc::itimerval; 3]);

/// Stops this process's timers, and returns them.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn take() -> io::Result<Timers> {
    let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let off = libc::itimerval { it_interval: none, it_value: none };
    let mut taken = Timers([off; 3]);
    for (kind, place) in KINDS.into_iter().zip(&mut taken.0) {
        // SAFETY: both point to live structures.
        checked(unsafe { libc::setitimer(kind, &raw const off, place) }.into())?;
    }
    Ok(taken)
}

impl Timers {
    pub(crate) fn restore(self) {
        for (kind, value) in KINDS.into_iter().zip(self.0) {
            // SAFETY: the structure is live; the kernel accepts every value that it returned.
            unsafe { libc::setitimer(kind, &raw const value, std::ptr::null_mut()) };
        }
    }
}
