//! Which rule says when a verdict is withheld: it has changed, and a record keeps its own.

use crate::diagnostics::{disturbed_epochs, noisy_epochs};
use crate::epoch::Epoch;

/// How a finding is held against the disturbed epochs and against time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Withheld when it changes without the disturbed epochs, or, with a trend of θ, without the
    /// first quarter: methods 1 and 2.
    LeaveOut,
    /// Withheld when θ differs between the disturbed epochs and the others, or between the halves of
    /// the run, and they do not say the same: from method 3 on.
    HoldApart,
}

impl Rule {
    /// The rule of a method, by the `method_version` of the record.
    pub const fn for_method(version: u32) -> Self {
        match version {
            0..=2 => Self::LeaveOut,
            _ => Self::HoldApart,
        }
    }

    /// The indexes of the epochs that this rule takes for disturbed, in rising order.
    pub fn disturbed(self, epochs: &[Epoch]) -> Vec<usize> {
        match self {
            Self::LeaveOut => noisy_epochs(epochs),
            Self::HoldApart => disturbed_epochs(epochs),
        }
    }
}
