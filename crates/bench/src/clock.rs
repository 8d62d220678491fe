//! The measuring clock: `CLOCK_MONOTONIC` in nanoseconds, read through the vDSO.

use rustix::time::{ClockId, clock_gettime};

/// Returns the current time of the measuring clock, in nanoseconds since an arbitrary start.
///
/// # Cost
/// No system call if the clock source is the processor's counter; a reading then takes some 20 to 40 ns.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the CPU time of the calling thread so far, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The result of an action, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed<T> {
    /// When the action began.
    pub start_ns: u64,
    pub wall_ns: u64,
    pub value: T,
}

/// Times an action of another crate.
///
/// # Errors
/// The action's error.
pub fn timed<T, E>(act: impl FnOnce() -> Result<T, E>) -> Result<Timed<T>, E> {
    let start_ns = now_ns();
    let value = act()?;
    Ok(Timed { start_ns, wall_ns: now_ns() - start_ns, value })
}

/// Spins for `wait_ns` nanoseconds and returns how many nanoseconds it really took.
pub(crate) fn busy_wait(wait_ns: u64) -> u64 {
    let start_ns = now_ns();
    loop {
        let spent_ns = now_ns() - start_ns;
        if spent_ns >= wait_ns {
            return spent_ns;
        }
    }
}
