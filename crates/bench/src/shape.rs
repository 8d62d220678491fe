//! How long slices and guards are, and how many octets (groups of eight slices) an epoch has.

use std::time::Duration;

/// Shortest slice: the scheduler's load tracking settles within tens of milliseconds (METHOD.md).
const LEAST_SLICE: Duration = Duration::from_millis(50);
/// Maximum length of a slice that is made longer because there are few requests per second.
const LONGEST_SLICE: Duration = Duration::from_secs(1);
const LEAST_GUARD: Duration = Duration::from_millis(10);
/// Number of requests that a slice should contain.
pub const REQUESTS_PER_SLICE: f64 = 200.0;
/// Number of requests in an epoch if each slice is one whole request: two requests for each side.
const WHOLE_REQUESTS: usize = 4;
/// Reconnecting may take at most this share of an epoch; if it takes more, octets are added.
const RECONNECT_SHARE: f64 = 0.2;
/// Highest number of octets in one epoch: with more octets per epoch, there would be too few epochs.
const MOST_OCTETS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub slice: Duration,
    pub guard: Duration,
    /// Number of octets in an epoch; an octet is eight slices. With 0 octets the epoch has four slices. Each of them is
    /// then one whole request, however long the request takes.
    pub octets: usize,
    /// Longest random wait before the first slice; it keeps slices out of phase with periodic timers of the system.
    pub jitter: Duration,
    /// Width of the rate buckets inside a slice; `None` if slices are too short for buckets.
    pub bucket: Option<Duration>,
}

impl Shape {
    /// Returns the shape for pinned placements: 50 ms slices after 10 ms guards.
    pub fn short() -> Self {
        Self { slice: LEAST_SLICE, guard: LEAST_GUARD, octets: 1, jitter: Duration::from_millis(20), bucket: None }
    }

    /// Returns the shape for an open loop. Its slices of 250 ms are long enough to show whether the server can keep up
    /// with the rate. Its guards give a backlog time to drain.
    pub fn open() -> Self {
        Self { guard: Duration::from_millis(50), ..Self::short().with_slice(Duration::from_millis(250)) }
    }

    /// Returns the shape for `free`: 250 ms slices, after guards of 250 ms in which the scheduler settles. Rates are
    /// recorded every 100 ms.
    pub fn settling() -> Self {
        let settled = Duration::from_millis(250);
        Self { guard: settled, ..Self::short().with_slice(settled) }
    }

    /// Returns the shape for requests that are longer than any slice: an epoch has two requests of each side, in the
    /// order ABBA or BAAB.
    pub fn whole() -> Self {
        Self { slice: Duration::ZERO, guard: Duration::ZERO, octets: 0, ..Self::short() }
    }

    /// Returns whether a slice is one whole request.
    pub fn is_whole(&self) -> bool {
        self.octets == 0
    }

    pub fn n_slices(&self) -> usize {
        if self.is_whole() { WHOLE_REQUESTS } else { 8 * self.octets }
    }

    /// Returns the same shape with slices of another length.
    #[must_use]
    pub fn with_slice(self, slice: Duration) -> Self {
        let bucket = (slice >= Duration::from_millis(200)).then(|| Duration::from_millis(100));
        Self { slice, bucket, ..self }
    }

    /// Adapts the shape to a warm-up. Slice and guard depend on the slower side's rate (requests per second) and p99.
    /// The number of octets depends on the time that reconnecting took.
    ///
    /// A slice lasts at least max(50 ms, the time of 200 requests, 10 × p99); the time of 200 requests counts as 1 s at
    /// most. A guard lasts at least max(10 ms, 3 × p99). Slice and guard never become shorter than before. Octets are
    /// added (up to `MOST_OCTETS`) until reconnecting takes at most a fifth of the epoch.
    #[must_use]
    pub fn adapted(self, slowest_per_s: f64, p99: Duration, reconnect: Duration) -> Self {
        let for_requests = if slowest_per_s > 0.0 {
            Duration::from_secs_f64(REQUESTS_PER_SLICE / slowest_per_s).min(LONGEST_SLICE)
        } else {
            LONGEST_SLICE
        };
        let slice = self.slice.max(for_requests).max(p99 * 10);
        let guard = self.guard.max(p99 * 3);
        let octet = (slice + guard) * 8;
        let octets = (reconnect.as_secs_f64() * (1.0 - RECONNECT_SHARE) / RECONNECT_SHARE / octet.as_secs_f64())
            .ceil()
            .clamp(1.0, MOST_OCTETS as f64) as usize;
        Self { guard, octets: self.octets.max(octets), ..self.with_slice(slice) }
    }

    /// Returns the approximate length of an epoch, without reconnecting.
    pub fn epoch(&self) -> Duration {
        (self.slice + self.guard) * 8 * u32::try_from(self.octets).unwrap_or(u32::MAX) + self.jitter / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_quick_server_keeps_the_short_shape() {
        assert_eq!(Shape::short().adapted(80_000.0, MS / 10, MS * 5), Shape::short());
    }

    #[test]
    fn slow_answers_lengthen_slice_and_guard() {
        let shape = Shape::short().adapted(100_000.0, MS * 20, MS);
        assert_eq!((shape.slice, shape.guard), (MS * 200, MS * 60));
        let shape = Shape::short().adapted(1_000.0, MS, MS);
        assert_eq!(shape.slice, MS * 200); // 200 requests at 1,000/s
    }

    #[test]
    fn costly_reconnecting_adds_octets() {
        // Eight slices take 480 ms. Reconnecting takes 300 ms, a fifth of 1.5 s, so the epoch gets three octets.
        assert_eq!(Shape::short().adapted(80_000.0, MS, MS * 300).octets, 3);
    }
}
