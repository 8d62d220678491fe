//! The system calls of this crate, each behind a function that is safe to call.
//!
//! The only unsafe code of the crate, except for the code in `launch` and `page` for a new process and its memory.
//! Errors are the kernel's own numbers.

pub(crate) mod epoll;
pub(crate) mod fork;
pub(crate) mod identity;
pub(crate) mod inherited;
pub(crate) mod memory;
pub(crate) mod pass;
pub(crate) mod process;
pub(crate) mod root;
pub(crate) mod schedule;
pub(crate) mod socket;
pub(crate) mod timers;
pub(crate) mod wait;

use std::ffi::c_long;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Returns the result of a system call, or its error.
pub(crate) fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Returns the new descriptor that a system call returned.
pub(crate) fn new_fd(result: c_long) -> io::Result<OwnedFd> {
    let fd = checked(result)?;
    // SAFETY: the kernel has just made this descriptor for us, and no other code knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Returns the number of an error; every error of this crate has a number.
pub(crate) fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// Returns our own process id, in the type of system calls.
pub(crate) fn own_pid() -> i32 {
    std::process::id().cast_signed()
}
