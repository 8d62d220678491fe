//! Measures how long looptax has waited for something. Only this module reads the clock.

use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Since(Instant);

impl Since {
    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    pub(crate) fn now() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
