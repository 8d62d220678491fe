//! Finds other holders of a file: copies of a descriptor in the same process or in others.
//!
//! To find the copies, we have to check every descriptor. To find out only whether there are copies, we watch the file
//! and give up our own reference; the watch ends if no other reference is left.

use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use looptax_host::kernel;

use crate::caller::status;
use crate::sys::{epoll, own_pid, process};

/// A descriptor that refers to the file for which holders are searched.
pub(super) struct Holder {
    tid: i32,
    pub(super) fd: i32,
    inode: u64,
}

/// If another process inspects the program's descriptors, we wait until it has finished, but at most this many times
/// [`LOOK`].
const MAX_LOOKS: u32 = 20;
const LOOK: Duration = Duration::from_millis(1);

thread_local! {
    /// This thread's event queue; replaced if a file stays in it.
    static QUEUE: RefCell<Option<OwnedFd>> = const { RefCell::new(None) };
}

/// A file to which we gave up our own reference, but that other descriptors still hold.
pub(super) struct Held {
    queue: Option<OwnedFd>,
}

impl Held {
    /// Waits until the file is released: a process that only inspects descriptors holds each of them for a moment.
    /// Returns false if it takes longer.
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

/// Closes our reference to a TCP socket that is not connected; returns `None` if no other descriptor holds it.
///
/// # Source
/// epoll(7), Q6: a file leaves the set when all descriptors that refer to it are closed. `tcp_poll`: a socket that is
/// not connected reports a hang-up, so its watch has an event immediately.
///
/// # Cost
/// Three system calls.
pub(super) fn release(socket: OwnedFd) -> Option<Held> {
    let queue = QUEUE.take().map_or_else(epoll::new, Ok);
    // Without a queue, it is unknown whether other descriptors hold the file. The search for copies will show this.
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

/// Returns the caller's descriptors that refer to the file.
pub(super) fn own(tid: i32, inode: u64) -> Vec<Holder> {
    in_process(tid, inode)
}

/// Returns the descriptors of all processes that we may inspect and that refer to the file.
pub(super) fn others(inode: u64) -> Vec<Holder> {
    let names = kernel::names("/proc").into_iter().flatten();
    let pids = names.filter_map(|it| it.to_str()?.parse::<i32>().ok());
    let others = pids.filter(|pid| *pid != own_pid());
    others.flat_map(|pid| in_process(pid, inode)).collect()
}

fn in_process(tid: i32, inode: u64) -> Vec<Holder> {
    let wanted = format!("socket:[{inode}]").into_bytes();
    let names = kernel::names(format!("/proc/{tid}/fd"));
    let names = names.into_iter().flatten();
    let numbers = names.filter_map(|it| it.to_str()?.parse().ok());
    let is_it = |fd: &i32| process::link(&format!("/proc/{tid}/fd/{fd}")).is_ok_and(|target| target == wanted);
    let holder = |fd| Holder { tid, fd, inode };
    numbers.filter(is_it).map(holder).collect()
}

impl Holder {
    /// Returns a copy of the descriptor; `None` if it is closed or refers to another file.
    pub(super) fn take(&self) -> Option<OwnedFd> {
        let pid = status(self.tid).ok()?.pid;
        let pidfd = process::pidfd_open(self.tid, libc::PIDFD_THREAD).or_else(|_| process::pidfd_open(pid, 0));
        let file = process::pidfd_getfd(pidfd.ok()?.as_fd(), self.fd).ok()?;
        let is_it = process::inode(file.as_fd()).is_ok_and(|it| it == self.inode);
        is_it.then_some(file)
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
