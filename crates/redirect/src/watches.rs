//! The event queues (epoll) that watch a socket before it is replaced: finds them, and makes them watch the new socket.
//!
//! A watch belongs to an open file and a descriptor number. The new file has to be watched under the program's own
//! number, so that later changes by the program apply to it. That needs a thread with a separate table of descriptors,
//! in which the number is free.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use looptax_host::kernel;

use crate::caller::Caller;
use crate::sys::{epoll, fork, process};

const STACK_BYTES: usize = 64 * 1024;

/// A watch in an event queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watch {
    /// The queue's descriptor number in the program.
    pub(crate) queue: i32,
    pub(crate) fd: i32,
    pub(crate) events: u32,
    /// The data that the program receives with an event.
    pub(crate) data: u64,
}

/// Every call of `epoll_ctl` adds these two events to a watch, and a one-shot watch loses them after its event. Source:
/// `fs/eventpoll.c`.
const ALWAYS: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;

impl Watch {
    /// Returns the same watch without its events. This silent watch is added first, so that no thread gets events of
    /// the new file before the file is in its place. If the events could not be changed later (`EPOLLEXCLUSIVE`),
    /// returns the watch unchanged.
    pub(crate) fn silent(self) -> Self {
        let is_exclusive = self.events & libc::EPOLLEXCLUSIVE as u32 != 0;
        let events = if is_exclusive { self.events } else { libc::EPOLLONESHOT as u32 | ALWAYS };
        Self { events, ..self }
    }

    /// Returns whether `other` is this watch and still silent. False if this watch is one-shot and has already had its
    /// event.
    pub(crate) fn begins_as(&self, other: &Self) -> bool {
        *other == self.silent() && !self.is_over()
    }

    /// Returns whether this one-shot watch has had its event.
    fn is_over(&self) -> bool {
        self.events & ALWAYS == 0
    }

    fn is_at(&self, other: &Self) -> bool {
        (self.queue, self.fd) == (other.queue, other.fd)
    }
}

/// Returns whether the program has made the same watches on both files.
pub(crate) fn are_alike(one: &[Watch], other: &[Watch]) -> bool {
    let said = |it: &Watch| Watch { events: it.events | ALWAYS, ..*it };
    one.iter().map(said).eq(other.iter().map(said))
}

/// Returns the watches that these queues have on `file` under the caller's number `fd`; `inode` is the inode of `file`.
///
/// # Cost
/// One or two system calls per queue, and a file to read for each queue that watches the file.
pub(crate) fn find(
    tid: i32,
    queues: &[i32],
    fd: i32,
    (file, inode): (BorrowedFd<'_>, u64),
    has_kcmp: bool,
) -> Vec<Watch> {
    let mut found: Vec<Watch> = Vec::new();
    for queue in queues {
        // A descriptor that was a queue may refer to another file by now; that gives an error, and there is no watch.
        if has_kcmp && !process::does_watch(tid, *queue, fd, file).unwrap_or_default() {
            continue;
        }
        let Ok(text) = kernel::text(format!("/proc/{tid}/fdinfo/{queue}")) else {
            continue;
        };
        // Skip a queue that was already found under another number. If we changed a queue twice, our second change
        // could undo a change that the program has made since our first change.
        let is_known = |it: &Watch| {
            has_kcmp && found.iter().any(|known| process::are_same_file(tid, known.queue, it.queue).unwrap_or_default())
        };
        let watch = text.lines().find_map(|line| parse(line, *queue, fd, inode));
        if let Some(watch) = watch.filter(|it| !is_known(it)) {
            found.push(watch);
        }
    }
    found
}

/// # Source
/// `proc_pid_fdinfo(5)`: `tfd: 7 events: 1d data: ffffffffffffffff pos:0 ino:61af sdev:7`.
fn parse(line: &str, queue: i32, fd: i32, inode: u64) -> Option<Watch> {
    let mut words = line.split_ascii_whitespace().flat_map(|word| {
        let (name, value) = word.split_once(':').unwrap_or((word, ""));
        [name, value].into_iter().filter(|it| !it.is_empty())
    });
    let mut value = |name: &str| {
        words.find(|word| *word == name)?;
        words.next()
    };
    let watched: i32 = value("tfd")?.parse().ok()?;
    let events = u32::from_str_radix(value("events")?, 16).ok()?;
    let data = u64::from_str_radix(value("data")?, 16).ok()?;
    let found_inode = u64::from_str_radix(value("ino")?, 16).ok()?;
    (watched == fd && found_inode == inode).then_some(Watch { queue, fd, events, data })
}

/// Makes the queues watch `new` in the same way as they now watch the old file; `before` are the watches that the
/// queues already have for `new`.
///
/// # Errors
/// The first step that failed; earlier queues already watch `new`, until it is closed. `is_wanted` is called right
/// before each step.
pub(crate) fn renew(
    caller: &Caller,
    new: BorrowedFd<'_>,
    (before, now): (&[Watch], &[Watch]),
    is_wanted: &(dyn Fn(&Watch) -> bool + Sync),
) -> io::Result<()> {
    let steps = steps(before, now);
    if steps.is_empty() {
        return Ok(());
    }
    let pidfd = caller.pidfd();
    thread::scope(|scope| {
        let work = || {
            fork::unshare_descriptors()?;
            // Numbers from this one on do not collide with the program's.
            let beyond = steps.iter().map(|it| it.watch().fd + 1).max().unwrap_or_default();
            let taken = above(pidfd, beyond).and_then(|pidfd| {
                let new = above(new, beyond)?;
                steps.iter().try_for_each(|it| take(&pidfd, &new, *it, is_wanted))
            });
            fork::close_own_descriptors();
            taken
        };
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work)?;
        let failed = || io::Error::from_raw_os_error(libc::EIO);
        thread.join().unwrap_or_else(|_| Err(failed()))
    })
}

/// Returns the watches `now` as the program's own calls have set them. A watch that is still silent, or a one-shot
/// watch that has had its event, gets its state from `before`, because no call of the program caused this state: for
/// example, the old file's hang-up ends a one-shot watch, which has to begin again on the other file.
pub(crate) fn as_called(before: &[Watch], mut now: Vec<Watch>) -> Vec<Watch> {
    for it in &mut now {
        let is_as_before = |old: &&Watch| old.is_at(it) && (it.is_over() || old.begins_as(it));
        if let Some(old) = before.iter().find(is_as_before) {
            *it = *old;
        }
    }
    now
}

/// Copies a descriptor to a number of at least `least`. The copy is closed together with the thread's table.
fn above(fd: BorrowedFd<'_>, least: i32) -> io::Result<OwnedFd> {
    process::duplicate(fd, least)
}

/// A change of a queue for the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Add(Watch),
    Change(Watch),
    Forget(Watch),
}

impl Step {
    fn watch(&self) -> &Watch {
        let (Self::Add(watch) | Self::Change(watch) | Self::Forget(watch)) = self;
        watch
    }
}

fn steps(before: &[Watch], now: &[Watch]) -> Vec<Step> {
    let gone = before.iter().filter(|old| !now.iter().any(|it| it.is_at(old))).map(|it| Step::Forget(*it));
    let left = now.iter().filter(|it| !before.contains(it)).map(|it| {
        let was_there = before.iter().any(|old| old.is_at(it));
        if was_there { Step::Change(*it) } else { Step::Add(*it) }
    });
    gone.chain(left).collect()
}

fn take(pidfd: &OwnedFd, new: &OwnedFd, step: Step, is_wanted: &dyn Fn(&Watch) -> bool) -> io::Result<()> {
    let Watch { queue, fd, events, data } = *step.watch();
    fork::put_under(new.as_fd(), fd)?;
    let queue = process::pidfd_getfd(pidfd.as_fd(), queue)?;
    // Nothing may come between this check and the change, because a call of the program in between would be
    // overwritten.
    if !is_wanted(step.watch()) {
        return Ok(());
    }
    let (taken, harmless) = match step {
        // The error means that the queue already has the watch: it was added under another number of the queue, or by
        // the program.
        Step::Add(_) => (epoll::watch(queue.as_fd(), fd, events, data), libc::EEXIST),
        // The error means that the program has ended the watch.
        Step::Change(_) => (epoll::change(queue.as_fd(), fd, events, data), libc::ENOENT),
        Step::Forget(_) => (epoll::forget(queue.as_fd(), fd), libc::ENOENT),
    };
    taken.or_else(|error| if error.raw_os_error() == Some(harmless) { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_watch_of_one_file_under_one_number() {
        let line = "tfd:       17 events: 80000019 data: ffffffffffffffff  pos:0 ino:1f sdev:8";
        let watch = Watch { queue: 5, fd: 17, events: 0x8000_0019, data: u64::MAX };
        assert_eq!(parse(line, 5, 17, 0x1f), Some(watch));
        assert_eq!(parse(line, 5, 17, 0x20), None);
        assert_eq!(parse(line, 5, 16, 0x1f), None);
        assert_eq!(parse("pos:\t0", 5, 16, 0x1f), None);
    }

    #[test]
    fn an_event_is_no_call() {
        let watch = |events| Watch { queue: 3, fd: 7, events, data: 1 };
        let (armed, over, changed) = (watch(0x4000_0019), watch(0x4000_0000), watch(0x4000_001c));
        let called = |before: Watch, now: Watch| as_called(&[before], vec![now])[0];
        assert_eq!(called(armed, over), armed);
        assert_eq!(called(armed, armed.silent()), armed);
        assert_eq!(called(over, over.silent()), over.silent());
        assert_eq!(called(over, armed), armed);
        assert_eq!(called(armed, changed), changed);
        assert!(are_alike(&[over], &[over.silent()]) && !are_alike(&[over], &[armed]));
    }

    #[test]
    fn a_queue_is_told_what_changed_since() {
        let watch = |queue, fd, events| Watch { queue, fd, events, data: 1 };
        let before = [watch(3, 7, 1), watch(4, 7, 1), watch(5, 7, 1)];
        let now = [watch(3, 7, 1), watch(4, 7, 5), watch(6, 7, 1)];
        let expected = [Step::Forget(before[2]), Step::Change(now[1]), Step::Add(now[2])];
        assert_eq!(steps(&before, &now), expected);
        assert_eq!(steps(&now, &now), []);
    }
}
