//! The input of a judgement.

use crate::stats::epoch::{Epoch, Side};
use crate::stats::totals::ArmTotal;

/// The input of [`crate::stats::judge()`].
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// All epochs after the warm-up, in order of time.
    pub epochs: &'a [Epoch],
    /// Number of connections per arm, C.
    pub connections: u32,
    /// The two-sided level of every interval: the level of the interim analysis at which the run stopped.
    pub alpha: f64,
    /// The largest difference that does not matter, as a fraction: 0.01 means ±1 %.
    pub delta: f64,
    /// The reasons why the measurement is invalid; empty if it is valid.
    pub invalid: Vec<String>,
    /// Whether the run ended before its last interim analysis; the estimate is then slightly too large.
    pub stopped_early: bool,
    /// Whether an end of a connection may have run on different cores in different slices.
    pub can_move: bool,
}

impl Input<'_> {
    /// Returns one arm's totals of the complete epochs.
    pub(super) fn totals_of(&self, side: Side) -> Vec<ArmTotal> {
        let whole = self.epochs.iter().filter(|epoch| epoch.groups().is_some());
        whole.map(|epoch| ArmTotal::from_epoch(epoch, side)).collect()
    }
}
