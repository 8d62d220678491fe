//! Reads the monotonic clock, for the time between two surveys. Measurements have their own clock.

use rustix::time::{ClockId, clock_gettime};

/// Returns the nanoseconds since an unspecified moment in the past.
pub(crate) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
