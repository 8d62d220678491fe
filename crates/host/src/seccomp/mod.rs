//! Filters of system calls, and the calls that wait for an answer.
//!
//! The caller decides which calls a filter stops and how they are answered. Callers are the supervisor of `run`, and
//! the supervisor of programs that looptax runs to get their configuration.

pub mod bpf;
mod notify;

use std::ffi::c_long;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

pub use notify::{Answer, Call, Listener, call_bytes, install, is_passing};

fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn new_fd(result: c_long) -> io::Result<OwnedFd> {
    let fd = checked(result)?;
    // SAFETY: the kernel has just made this descriptor for this call, and no other code knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}
