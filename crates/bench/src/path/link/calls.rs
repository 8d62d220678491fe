//! The number of system calls of a connection.

/// The system calls with which a connection sent and received data, including its set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    pub sends: u64,
    pub receives: u64,
}

impl Calls {
    /// Returns the calls after `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self { sends: self.sends.saturating_sub(before.sends), receives: self.receives.saturating_sub(before.receives) }
    }
}
