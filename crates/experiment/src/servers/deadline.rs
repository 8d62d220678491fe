//! Time limits for waiting on a server. This is the only clock of this room, and it is never used for measuring.
//!
//! `ready` and `process` use it.

use std::time::{Duration, Instant};

/// A moment after which waiting is pointless.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// The moment `limit` from now.
    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    pub(crate) fn after(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    /// The time that is left; zero after the deadline.
    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub(crate) fn has_passed(self) -> bool {
        self.left().is_zero()
    }
}
