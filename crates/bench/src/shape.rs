//! How long slices and guards are, and how many octets of slices make an epoch.

use std::time::Duration;

/// Shortest slice: scheduler load tracking settles within tens of milliseconds (METHOD.md).
const LEAST_SLICE: Duration = Duration::from_millis(50);
/// Longest slice that adapting may choose on account of few requests.
const LONGEST_SLICE: Duration = Duration::from_secs(1);
const LEAST_GUARD: Duration = Duration::from_millis(10);
/// Requests that a slice should hold.
pub const REQUESTS_PER_SLICE: f64 = 200.0;
/// Whole requests in an epoch, where they are longer than a slice: two of each side.
const WHOLE_REQUESTS: usize = 4;
/// Share of an epoch that reconnecting may take before octets are added.
const RECONNECT_SHARE: f64 = 0.2;
/// Most octets in one epoch: more would leave too few epochs.
const MOST_OCTETS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub slice: Duration,
    pub guard: Duration,
    /// How many times eight slices make an epoch; 0: an epoch is four slices, each of them one whole
    /// request, however long it takes.
    pub octets: usize,
    /// Longest random wait before the first slice: breaks phase lock with housekeeping timers.
    pub jitter: Duration,
    /// Width of the rate buckets inside a slice; `None` for slices too short to have any.
    pub bucket: Option<Duration>,
}

impl Shape {
    /// For pinned placements: 50 ms slices behind 10 ms guards.
    pub fn short() -> Self {
        Self { slice: LEAST_SLICE, guard: LEAST_GUARD, octets: 1, jitter: Duration::from_millis(20), bucket: None }
    }

    /// For an open loop: 250 ms slices, in which a rate shows whether it can be kept, behind guards
    /// that let a backlog drain.
    pub fn open() -> Self {
        Self { guard: Duration::from_millis(50), ..Self::short().with_slice(Duration::from_millis(250)) }
    }

    /// For `free`: 250 ms slices behind 250 ms of settling, with rates every 100 ms.
    pub fn settling() -> Self {
        let settled = Duration::from_millis(250);
        Self { guard: settled, ..Self::short().with_slice(settled) }
    }

    /// For requests that are longer than any slice: two of each side make an epoch, ABBA or BAAB.
    pub fn whole() -> Self {
        Self { slice: Duration::ZERO, guard: Duration::ZERO, octets: 0, ..Self::short() }
    }

    /// Whether a slice is one whole request.
    pub fn is_whole(&self) -> bool {
        self.octets == 0
    }

    pub fn n_slices(&self) -> usize {
        if self.is_whole() { WHOLE_REQUESTS } else { 8 * self.octets }
    }

    /// The same with slices of another length.
    #[must_use]
    pub fn with_slice(self, slice: Duration) -> Self {
        let bucket = (slice >= Duration::from_millis(200)).then(|| Duration::from_millis(100));
        Self { slice, bucket, ..self }
    }

    /// Fits slice and guard to a warm-up's slower rate (requests per second) and p99, and the
    /// octets to the time that reconnecting took.
    ///
    /// slice ≥ max(50 ms, 200 requests, 10 × p99), guard ≥ max(10 ms, 3 × p99), never shorter than
    /// they were; octets so that reconnecting takes at most a fifth of the epoch.
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

    /// About how long an epoch takes, without reconnecting.
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
        // 8 slices take 480 ms; 300 ms of reconnecting are a fifth of 1.5 s: three octets.
        assert_eq!(Shape::short().adapted(80_000.0, MS, MS * 300).octets, 3);
    }
}
