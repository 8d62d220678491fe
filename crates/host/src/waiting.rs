//! Functions that wait until some time has passed, a descriptor is ready, or a peer has answered; a signal ends the
//! wait.
//!
//! The command line calls [`stop`] at the first signal. From then on, every running or new wait ends immediately: the
//! function returns an error, or reports that the wait was cut short. The command can then clean up and end. If the
//! clean-up has to wait, the command calls [`allow_again`] first. [`Kept`] is for clean-up that a second signal must
//! not end. Code that waits in a system call with its own time limit waits in parts of [`STEP`], and calls [`goes_on`]
//! between two parts.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The longest part of a wait in a system call. A person perceives a delay of less than a tenth of a second as
/// immediate.
pub const STEP: Duration = Duration::from_millis(50);

static HAS_STOPPED: Mutex<bool> = Mutex::new(false);
static STOPPED: Condvar = Condvar::new();
static IS_KEPT: AtomicBool = AtomicBool::new(false);
static GOES_BACK: AtomicBool = AtomicBool::new(false);

/// Ends every wait of this process, including waits that begin later.
pub fn stop() {
    set(true);
    STOPPED.notify_all();
}

/// Allows waits again, for clean-up after a signal.
pub fn allow_again() {
    set(false);
}

/// While this value exists, a signal does not end the process: looptax is changing files, and must change either all of
/// them or none.
#[derive(Debug)]
pub struct Kept(());

impl Kept {
    #[must_use]
    pub fn begin() -> Self {
        IS_KEPT.store(true, Ordering::SeqCst);
        Self(())
    }

    /// Makes waits work again after a signal, and lets no further signal end them, so that the clean-up runs to its
    /// end.
    pub fn go_back(&self) {
        GOES_BACK.store(true, Ordering::SeqCst);
        allow_again();
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for it in [&IS_KEPT, &GOES_BACK] {
            it.store(false, Ordering::SeqCst);
        }
    }
}

/// Whether a signal must not end the process at present.
pub fn is_kept() -> bool {
    IS_KEPT.load(Ordering::SeqCst)
}

/// Whether old files are being put back; no signal may cut this short.
pub fn goes_back() -> bool {
    GOES_BACK.load(Ordering::SeqCst)
}

fn set(has_stopped: bool) {
    *HAS_STOPPED.lock().unwrap_or_else(PoisonError::into_inner) = has_stopped;
}

pub fn has_stopped() -> bool {
    *HAS_STOPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks between two parts of a wait whether to continue.
///
/// # Errors
/// [`stopped`], if the wait has to end.
pub fn goes_on() -> io::Result<()> {
    if has_stopped() {
        return Err(stopped());
    }
    Ok(())
}

/// Returns the error for a wait that a signal ended. Its kind is `Other`, because callers retry after `Interrupted`.
pub fn stopped() -> io::Error {
    io::Error::other("stopped by a signal")
}

/// Waits for some time; returns false if a signal cut the wait short.
pub fn pause(time: Duration) -> bool {
    let has_stopped = HAS_STOPPED.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = STOPPED.wait_timeout_while(has_stopped, time, |has_stopped| !*has_stopped);
    let (has_stopped, _) = waited.unwrap_or_else(PoisonError::into_inner);
    !*has_stopped
}

/// Waits until a descriptor is ready for `flags`; returns false if `limit` passes first. Without a limit, waits until
/// the descriptor is ready or a signal comes.
///
/// # Errors
/// The errors of poll(2), or that a signal ended the wait.
pub fn until_ready(fd: impl AsFd, flags: PollFlags, limit: Option<Duration>) -> io::Result<bool> {
    let time = Time::begun();
    loop {
        goes_on()?;
        let left = limit.map(|limit| limit.saturating_sub(time.passed()));
        let part = left.map_or(STEP, |left| left.min(STEP));
        let part = Timespec { tv_sec: part.as_secs().cast_signed(), tv_nsec: part.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&fd, flags)], Some(&part)) {
            Ok(0) if left.is_some_and(|left| left.is_zero()) => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The time when a wait began.
pub(crate) struct Time(Instant);

#[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
impl Time {
    pub(crate) fn begun() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn passed(&self) -> Duration {
        Instant::now().saturating_duration_since(self.0)
    }
}
