//! Time limits for waiting for a server. In the module `servers`, only these limits use a clock, and no measurement
//! uses them.

use std::time::{Duration, Instant};

/// The end of a time limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    pub(crate) fn after(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    /// Returns the time that is left; zero after the deadline.
    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub(crate) fn has_passed(self) -> bool {
        self.left().is_zero()
    }
}
