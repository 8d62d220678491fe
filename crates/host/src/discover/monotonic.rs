//! The monotonic clock, used for the time between two looks. Measurements have their own clock.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since an unspecified moment in the past.
pub(crate) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
