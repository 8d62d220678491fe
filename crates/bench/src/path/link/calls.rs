//! System calls of a connection, counted.

/// System calls that a connection took for data, those of its set-up included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    pub sends: u64,
    pub receives: u64,
}

impl Calls {
    /// Those after `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self { sends: self.sends.saturating_sub(before.sends), receives: self.receives.saturating_sub(before.receives) }
    }
}
