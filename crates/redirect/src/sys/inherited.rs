//! The state that this process was started with, before Rust's own start changed it.

use std::sync::atomic::{AtomicBool, Ordering};

static IGNORED_BROKEN_PIPE: AtomicBool = AtomicBool::new(false);

/// Runs before `main`, and before Rust's start, which ignores the signal.
///
/// # Source
/// System V ABI, generic part, chapter 5: pointers in `.init_array` are called in order by the loader.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: all zeroes is a valid value of this plain structure.
        let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: nothing is set, and the structure is live.
        let result = unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut now) };
        let is_ignored = result == 0 && now.sa_sigaction == libc::SIG_IGN;
        IGNORED_BROKEN_PIPE.store(is_ignored, Ordering::Relaxed);
    }
    look
};

/// Returns the action for SIGPIPE that this process was started with.
pub(crate) fn broken_pipe() -> libc::sighandler_t {
    if IGNORED_BROKEN_PIPE.load(Ordering::Relaxed) { libc::SIG_IGN } else { libc::SIG_DFL }
}
