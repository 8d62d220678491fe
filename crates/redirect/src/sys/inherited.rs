//! The state with which this process was started, before Rust's start-up code changed it.

use std::sync::atomic::{AtomicBool, Ordering};

static IGNORED_BROKEN_PIPE: AtomicBool = AtomicBool::new(false);

/// Runs before `main` and before Rust's start-up code, which makes the process ignore SIGPIPE.
///
/// # Source
/// System V ABI, generic part, chapter 5: the loader calls the functions in `.init_array` in order.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: all zeroes is a valid value of this plain structure.
        let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the call sets nothing, and the structure is live.
        let result = unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut now) };
        let is_ignored = result == 0 && now.sa_sigaction == libc::SIG_IGN;
        IGNORED_BROKEN_PIPE.store(is_ignored, Ordering::Relaxed);
    }
    look
};

/// Returns the action for SIGPIPE with which this process was started.
pub(crate) fn broken_pipe() -> libc::sighandler_t {
    if IGNORED_BROKEN_PIPE.load(Ordering::Relaxed) { libc::SIG_IGN } else { libc::SIG_DFL }
}
