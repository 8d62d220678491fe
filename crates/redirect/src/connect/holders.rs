//! Who else holds a file: copies of a descriptor, in the process or in others.
//!
//! Looking for copies takes a look at every descriptor. Whether there are any is known at once when our own
//! reference is given up: a watch of ours ends with the last one.

use std::cell::RefCell;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use crate::sys::{epoll, process};

/// A descriptor that is the file.
pub(super) struct Holder {
    /// The caller's thread for its own process, else the other process.
    pub(super) tid: i32,
    pub(super) fd: i32,
    inode: u64,
}

/// How long a passing look at the program's descriptors may take, in steps.
const MAX_LOOKS: u32 = 20;
const LOOK: Duration = Duration::from_millis(1);

thread_local! {
    /// An event queue of this thread's; made anew where a file hangs on in it.
    static QUEUE: RefCell<Option<OwnedFd>> = const { RefCell::new(None) };
}

/// A file that we gave up and others still hold.
pub(super) struct Held {
    queue: Option<OwnedFd>,
}

impl Held {
    /// Whoever only looks at a process's descriptors holds each of them for a moment: false when it lasts.
    pub(super) fn passes(&self) -> bool {
        let Some(queue) = &self.queue else {
            return false;
        };
        for _ in 0..MAX_LOOKS {
            if !epoll::has_event(queue.as_fd()) {
                return true;
            }
            thread::sleep(LOOK);
        }
        false
    }
}

/// Gives up a TCP socket that is not connected; `None` when nobody else holds it.
///
/// # Source
/// epoll(7), Q6: a file leaves the set when all descriptors that refer to it are closed. `tcp_poll`: a socket
/// that is not connected has hung up, so that its watch speaks at once.
///
/// # Cost
/// Three system calls.
pub(super) fn release(socket: OwnedFd) -> Option<Held> {
    let queue = QUEUE.take().map_or_else(epoll::new, Ok);
    // Without an answer it may be: whoever looks for copies finds out.
    let Ok(queue) = queue else {
        return Some(Held { queue: None });
    };
    if epoll::watch(queue.as_fd(), socket.as_raw_fd(), 0, 0).is_err() {
        return Some(Held { queue: None });
    }
    drop(socket);
    if epoll::has_event(queue.as_fd()) {
        return Some(Held { queue: Some(queue) });
    }
    QUEUE.set(Some(queue));
    None
}

/// The numbers under which the caller holds a socket.
pub(super) fn numbers(tid: i32, inode: u64) -> Vec<i32> {
    in_process(tid, tid, inode).iter().map(|it| it.fd).collect()
}

/// All descriptors that we may look at and that are the file: first the caller's own.
pub(super) fn find(tid: i32, inode: u64) -> Vec<Holder> {
    let mut found = in_process(tid, tid, inode);
    let own: Vec<i32> = found.iter().map(|it| it.fd).collect();
    let pid = crate::caller::status(tid).map_or(tid, |it| it.pid);
    let others = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = others.filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok());
    for other in others.filter(|it| *it != std::process::id().cast_signed()) {
        let held = in_process(other, other, inode);
        // The caller's own process again, unless its thread has a table of its own.
        let is_new = |it: &Holder| other != pid || !own.contains(&it.fd);
        found.extend(held.into_iter().filter(is_new));
    }
    found
}

fn in_process(tid: i32, of: i32, inode: u64) -> Vec<Holder> {
    let wanted = format!("socket:[{inode}]").into_bytes();
    let entries = fs::read_dir(format!("/proc/{of}/fd")).into_iter().flatten();
    let numbers = entries.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
    let is_it = |fd: &i32| {
        process::link(&format!("/proc/{of}/fd/{fd}")).is_ok_and(|target| target == wanted)
    };
    let holder = |fd| Holder { tid, fd, inode };
    numbers.filter(is_it).map(holder).collect()
}

impl Holder {
    /// The file, and whose it was; `None` when it is gone.
    pub(super) fn take(&self) -> Option<(OwnedFd, i32)> {
        let pid = crate::caller::status(self.tid).ok()?.pid;
        let pidfd = process::pidfd_open(self.tid, libc::PIDFD_THREAD)
            .or_else(|_| process::pidfd_open(pid, 0));
        let file = process::pidfd_getfd(pidfd.ok()?.as_fd(), self.fd).ok()?;
        let is_it = process::inode(file.as_fd()).is_ok_and(|it| it == self.inode);
        is_it.then_some((file, self.tid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::socket;

    #[test]
    fn a_copy_holds_a_file_and_the_only_one_does_not() -> std::io::Result<()> {
        for _ in 0..3 {
            let socket = socket::stream(libc::AF_INET)?;
            assert!(release(socket).is_none_or(|held| held.passes()));
            let socket = socket::stream(libc::AF_INET)?;
            let copy = socket.try_clone()?;
            let held = release(socket).unwrap();
            assert!(!held.passes());
            drop(copy);
            assert!(held.passes());
        }
        Ok(())
    }
}
