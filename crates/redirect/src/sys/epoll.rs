//! Our own event queues.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{checked, new_fd};

/// Makes a new queue, closed on exec.
pub(crate) fn new() -> io::Result<OwnedFd> {
    // SAFETY: the only argument is a number; the result is a new descriptor.
    new_fd(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }.into())
}

/// Adds a watch for the number `fd`, which is also its key.
pub(crate) fn watch(queue: BorrowedFd<'_>, fd: i32, events: u32, data: u64) -> io::Result<()> {
    control(queue, libc::EPOLL_CTL_ADD, fd, events, data)
}

pub(crate) fn change(queue: BorrowedFd<'_>, fd: i32, events: u32, data: u64) -> io::Result<()> {
    control(queue, libc::EPOLL_CTL_MOD, fd, events, data)
}

pub(crate) fn forget(queue: BorrowedFd<'_>, fd: i32) -> io::Result<()> {
    control(queue, libc::EPOLL_CTL_DEL, fd, 0, 0)
}

fn control(queue: BorrowedFd<'_>, how: i32, fd: i32, events: u32, data: u64) -> io::Result<()> {
    let mut event = libc::epoll_event { events, u64: data };
    // SAFETY: the structure is live.
    let result = unsafe { libc::epoll_ctl(queue.as_raw_fd(), how, fd, &raw mut event) };
    checked(result.into()).map(drop)
}

pub(crate) fn has_event(queue: BorrowedFd<'_>) -> bool {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for one event.
    unsafe { libc::epoll_wait(queue.as_raw_fd(), &raw mut event, 1, 0) > 0 }
}
