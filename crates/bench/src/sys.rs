//! System calls that no safe library offers: another process's CPU clock, a thread's own usage, a child's usage, a
//! thread's scheduling policy.
//!
//! The only file of this crate with unsafe code.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;

/// Borrows the socket `owner` by its descriptor number, which the hot loop already has.
#[inline]
pub(crate) fn lent(number: RawFd, owner: &Arc<OwnedFd>) -> BorrowedFd<'_> {
    debug_assert_eq!(number, owner.as_raw_fd(), "the owner's own number");
    // SAFETY: the number is that of `owner`, and `owner` lives at least as long as the borrowed descriptor.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Context switches of the calling thread.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadUsage {
    /// Switches because the thread waited and gave up the core.
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

/// Returns the usage of the calling thread (`getrusage(RUSAGE_THREAD)`).
pub(crate) fn thread_usage() -> ThreadUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole `rusage` that lives through the call. Zeroes are valid for all fields of
    // `rusage`, so `usage` may be read even if the call failed.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    ThreadUsage { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
}

/// Returns the user CPU time of all our threads so far, in nanoseconds, including threads that have ended
/// (`getrusage(RUSAGE_SELF)`).
///
/// This time differs from the sum of `RUSAGE_THREAD` over the threads. Once per tick the kernel takes a sample: it
/// records in which mode a task runs. If a thread was never sampled, the kernel counts all time of this thread as user
/// time. This happens to the threads of an epoch, because they run only briefly, and many of them share a core.
///
/// # Source
/// Linux, `kernel/sched/cputime.c`, `cputime_adjust`.
pub(crate) fn process_user_ns() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole `rusage` that lives through the call. Zeroes are valid for all fields of
    // `rusage`, so `usage` may be read even if the call failed.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_utime.tv_sec as u64 * 1_000_000_000 + usage.ru_utime.tv_usec as u64 * 1_000
}

/// Returns the CPU time that all threads of process `pid` have used, in nanoseconds; `None` if the process has ended.
///
/// # Source
/// `clock_getcpuclockid(3)`: as exact as the scheduler's accounting, unlike the ticks in `/proc`.
pub(crate) fn process_cpu_ns(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: both pointers are to whole objects that live through the calls. `time` is read only if both calls have
    // succeeded.
    unsafe {
        if libc::clock_getcpuclockid(pid, &raw mut clock) != 0 || libc::clock_gettime(clock, time.as_mut_ptr()) != 0 {
            return None;
        }
        let time = time.assume_init();
        Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

/// The resources used by a child process. They include the resources of the child's own children, if the child has
/// waited for their end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChildUsage {
    /// User CPU time in nanoseconds. The kernel divides the total into user and system time by samples at ticks.
    pub(crate) user_ns: u64,
    /// System CPU time in nanoseconds.
    pub(crate) system_ns: u64,
    /// Switches because a thread waited and gave up the core.
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

/// Waits for the end of child `pid` and reaps it (`wait4(2)`).
pub(crate) fn reap(pid: u32) -> io::Result<(ExitStatus, ChildUsage)> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to whole objects that live through the call.
        if unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: the system call that fills `usage` has succeeded, and zeroes are valid for all fields of `usage`.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    let used = ChildUsage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        voluntary: usage.ru_nvcsw as u64,
        involuntary: usage.ru_nivcsw as u64,
    };
    Ok((ExitStatus::from_raw(status), used))
}

/// Sets the scheduling policy of thread `tid` (0: the calling thread) with `sched_setscheduler(2)`.
pub(crate) fn schedule(tid: u32, policy: i32, priority: i32) -> io::Result<()> {
    let tid = libc::pid_t::try_from(tid).map_err(io::Error::other)?;
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a whole `sched_param` that lives through the call.
    if unsafe { libc::sched_setscheduler(tid, policy, &raw const param) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_has_used_cpu_and_no_process_has_none() {
        assert!(process_cpu_ns(std::process::id()).is_some_and(|ns| ns > 0));
        assert_eq!(process_cpu_ns(u32::MAX), None);
    }

    #[test]
    fn usage_counts_up() {
        let before = thread_usage();
        std::thread::yield_now();
        assert!(thread_usage().voluntary + thread_usage().involuntary >= before.voluntary + before.involuntary);
    }
}
