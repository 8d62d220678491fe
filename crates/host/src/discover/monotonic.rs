//! The monotonic clock. Good for the time between two looks; measurements have their own clock.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment before now.
pub(crate) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
