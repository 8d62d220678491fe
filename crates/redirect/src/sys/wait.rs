//! Children and signals: waiting for both, and what the kernel says of them.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::{checked, new_fd};

/// Lets other threads run for this time, and waits for it even if none needs this core.
pub(crate) fn yield_for(time: Duration) {
    let until_ns = monotonic_ns().saturating_add(time.as_nanos().try_into().unwrap_or(u64::MAX));
    while monotonic_ns() < until_ns {
        std::thread::yield_now();
    }
}

/// Before a call that failed is made again: short beside what a person notices, long beside what a core would be busy with.
const BEFORE_ANOTHER_TRY: Duration = Duration::from_millis(5);

#[derive(Clone, Copy)]
pub(crate) struct SignalSet(libc::sigset_t);

impl SignalSet {
    pub(crate) fn of(signals: &[i32]) -> Self {
        // SAFETY: a set that is all zeroes is made empty before it is used.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is live, the numbers are those of signals.
        unsafe {
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
        }
        Self(set)
    }

    /// Keeps them from this thread and those that it starts; what was kept before.
    pub(crate) fn block(&self) -> io::Result<Self> {
        self.change(libc::SIG_BLOCK)
    }

    /// Makes these, and no others, the ones that are kept.
    pub(crate) fn restore(&self) -> io::Result<Self> {
        self.change(libc::SIG_SETMASK)
    }

    fn change(&self, how: i32) -> io::Result<Self> {
        let mut before = Self::of(&[]);
        // SAFETY: both sets are live.
        let result = unsafe { libc::pthread_sigmask(how, &raw const self.0, &raw mut before.0) };
        if result == 0 { Ok(before) } else { Err(io::Error::from_raw_os_error(result)) }
    }

    /// A descriptor at which they arrive.
    pub(crate) fn arrivals(&self) -> io::Result<OwnedFd> {
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the set is live.
        new_fd(unsafe { libc::signalfd(-1, &raw const self.0, flags) }.into())
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) signal: i32,
    /// Whether a process sent it, and not a terminal or the kernel.
    pub(crate) is_sent: bool,
}

/// The next signal at such a descriptor; `None` when there is none now.
pub(crate) fn next_signal(arrivals: BorrowedFd<'_>) -> Option<Arrival> {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the buffer is live and of the given size.
    let n = unsafe { libc::read(arrivals.as_raw_fd(), (&raw mut info).cast(), size) };
    // Codes of zero and less are those of kill and its like: sigaction(2).
    (n == size.cast_signed()).then_some(Arrival { signal: info.ssi_signo.cast_signed(), is_sent: info.ssi_code <= 0 })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It ended with this wait status; it is still there.
    Ended(i32),
    Stopped,
}

/// The next child to which something happened. One that has ended stays until it is reaped.
pub(crate) fn next_change() -> Option<(i32, Change)> {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the structure is live.
    let result = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, flags) };
    // SAFETY: after waitid these fields are the child's, or zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if result != 0 || pid == 0 {
        return next_stop();
    }
    let wait_status = match info.si_code {
        libc::CLD_EXITED => (status & 0xff) << 8,
        libc::CLD_DUMPED => status | 0x80,
        _ => status,
    };
    Some((pid, Change::Ended(wait_status)))
}

fn next_stop() -> Option<(i32, Change)> {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is live.
    let result = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WSTOPPED | libc::WNOHANG) };
    // SAFETY: after waitid this field is the child's, or zero.
    let pid = unsafe { info.si_pid() };
    (result == 0 && pid != 0).then_some((pid, Change::Stopped))
}

pub(crate) fn reap(pid: i32) {
    // SAFETY: no status is wanted, so the pointer may be null.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
}

/// Waits for a child's end and takes it away.
pub(crate) fn take_away(pid: i32) {
    // SAFETY: no status is wanted, so the pointer may be null.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// Waits until something that is asked for happens at one of the descriptors, or its other end is closed;
/// -1 waits for ever.
pub(crate) fn poll(fds: &[(BorrowedFd<'_>, i16)], patience_ms: i32) -> io::Result<Vec<bool>> {
    let mut polled: Vec<libc::pollfd> =
        fds.iter().map(|(fd, events)| libc::pollfd { fd: fd.as_raw_fd(), events: *events, revents: 0 }).collect();
    // SAFETY: a live array of the given length.
    let n = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, patience_ms) };
    match checked(n.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EINTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(error),
        Ok(_) => Ok(polled.iter().map(|it| it.revents != 0).collect()),
    }
}

/// Waits until something happens at one of the descriptors, however often that is interrupted or fails.
pub(crate) fn until(fds: &[(BorrowedFd<'_>, i16)]) -> Vec<bool> {
    loop {
        match poll(fds, -1) {
            Ok(found) if found.contains(&true) => return found,
            Ok(_) => {}
            // Memory that is short now is free again, or we are killed.
            Err(_) => std::thread::sleep(BEFORE_ANOTHER_TRY),
        }
    }
}

/// Whether something that is asked for has happened at a descriptor, or its other end is closed.
pub(crate) fn has_happened(fd: BorrowedFd<'_>, events: i16) -> bool {
    poll(&[(fd, events)], 0).is_ok_and(|found| found[0])
}

/// Whether this process has children, also such as have ended and wait to be taken away.
pub(crate) fn has_children() -> bool {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: no details are wanted, so the pointer may be null.
    unsafe { libc::waitid(libc::P_ALL, 0, std::ptr::null_mut(), flags) == 0 }
}

/// Makes every orphan below us our own child.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: only numbers are passed.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }.into()).map(drop)
}

/// Nanoseconds of the monotonic clock, which is the same in all processes: for putting two signals next
/// to each other, never for measuring.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is live.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Kills a child of ours and takes it away.
pub(crate) fn kill_child(pid: i32) {
    // SAFETY: only numbers are passed; a child that is not reaped yet keeps its number.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}
