//! Children and signals: waits for both, and returns what the kernel reports about them.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::{checked, new_fd};

/// Lets other threads run for this time; waits for the whole time even if no thread needs this core.
pub(crate) fn yield_for(time: Duration) {
    let until_ns = monotonic_ns().saturating_add(time.as_nanos().try_into().unwrap_or(u64::MAX));
    while monotonic_ns() < until_ns {
        std::thread::yield_now();
    }
}

/// Pause before a failed call is repeated: too short for a person to notice, but long enough not to keep a core busy.
const BEFORE_ANOTHER_TRY: Duration = Duration::from_millis(5);

#[derive(Clone, Copy)]
pub(crate) struct SignalSet(libc::sigset_t);

impl SignalSet {
    pub(crate) fn of(signals: &[i32]) -> Self {
        // SAFETY: a set of zeroes is made a proper empty set before it is used.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is live, and the numbers are those of signals.
        unsafe {
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
        }
        Self(set)
    }

    /// Blocks these signals for this thread and the threads that it starts; returns the signals that were blocked
    /// before.
    pub(crate) fn block(&self) -> io::Result<Self> {
        self.change(libc::SIG_BLOCK)
    }

    /// Blocks exactly these signals.
    pub(crate) fn restore(&self) -> io::Result<Self> {
        self.change(libc::SIG_SETMASK)
    }

    fn change(&self, how: i32) -> io::Result<Self> {
        let mut before = Self::of(&[]);
        // SAFETY: both sets are live.
        let result = unsafe { libc::pthread_sigmask(how, &raw const self.0, &raw mut before.0) };
        if result == 0 { Ok(before) } else { Err(io::Error::from_raw_os_error(result)) }
    }

    /// Opens a descriptor from which these signals can be read.
    pub(crate) fn arrivals(&self) -> io::Result<OwnedFd> {
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the set is live.
        new_fd(unsafe { libc::signalfd(-1, &raw const self.0, flags) }.into())
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) signal: i32,
    /// Whether a process sent the signal, not a terminal or the kernel.
    pub(crate) is_sent: bool,
}

/// Returns the next signal at a descriptor of [`SignalSet::arrivals`]; `None` if there is none now.
pub(crate) fn next_signal(arrivals: BorrowedFd<'_>) -> Option<Arrival> {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the buffer is live and of the given size.
    let n = unsafe { libc::read(arrivals.as_raw_fd(), (&raw mut info).cast(), size) };
    // Codes of zero and below mean that kill or a similar call sent the signal: sigaction(2).
    (n == size.cast_signed()).then_some(Arrival { signal: info.ssi_signo.cast_signed(), is_sent: info.ssi_code <= 0 })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The child ended with this wait status, and is not reaped yet.
    Ended(i32),
    Stopped,
}

/// Returns the next child that changed its state. A child that has ended stays until it is reaped.
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
    // SAFETY: the status is not requested, so the pointer may be null.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
}

/// Waits for a child's end and reaps it.
pub(crate) fn take_away(pid: i32) {
    // SAFETY: the status is not requested, so the pointer may be null.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// Waits until a requested event happens at a descriptor, or until the other end of a descriptor is closed. A
/// `patience_ms` of -1 waits forever.
pub(crate) fn poll(fds: &[(BorrowedFd<'_>, i16)], patience_ms: i32) -> io::Result<Vec<bool>> {
    let mut polled: Vec<libc::pollfd> =
        fds.iter().map(|(fd, events)| libc::pollfd { fd: fd.as_raw_fd(), events: *events, revents: 0 }).collect();
    // SAFETY: the array is live and has the given length.
    let n = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, patience_ms) };
    match checked(n.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EINTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(error),
        Ok(_) => Ok(polled.iter().map(|it| it.revents != 0).collect()),
    }
}

/// Waits until an event happens at one of the descriptors, even if the call is interrupted or fails.
pub(crate) fn until(fds: &[(BorrowedFd<'_>, i16)]) -> Vec<bool> {
    loop {
        match poll(fds, -1) {
            Ok(found) if found.contains(&true) => return found,
            Ok(_) => {}
            // If memory is short, either memory becomes free again, or we are killed.
            Err(_) => std::thread::sleep(BEFORE_ANOTHER_TRY),
        }
    }
}

/// Returns whether a requested event has happened at a descriptor, or whether the descriptor's other end is closed.
pub(crate) fn has_happened(fd: BorrowedFd<'_>, events: i16) -> bool {
    poll(&[(fd, events)], 0).is_ok_and(|found| found[0])
}

/// Returns whether this process has children, including ended ones that are not reaped yet.
pub(crate) fn has_children() -> bool {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: no details are requested, so the pointer may be null.
    unsafe { libc::waitid(libc::P_ALL, 0, std::ptr::null_mut(), flags) == 0 }
}

/// Makes every orphan among our descendants our own child.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: only numbers are passed.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }.into()).map(drop)
}

/// Returns the time of the monotonic clock in nanoseconds. This clock is the same in all processes, so times from
/// different processes can be compared.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is live.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Kills a child of ours and reaps it.
pub(crate) fn kill_child(pid: i32) {
    // SAFETY: only numbers are passed; a child that is not reaped yet keeps its number.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}
