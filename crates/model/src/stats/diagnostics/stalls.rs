//! Stalls: slices whose last answers came late.
//!
//! Each stall is listed with its arm. Called for the whole run.

use crate::stats::epoch::{Epoch, Side, Slice};

/// A slice whose last requests were answered late: the drain took longer than half of the active window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// Number of the epoch, from 0.
    pub epoch_idx: usize,
    /// Number of the slice in the epoch, from 0.
    pub slice_idx: usize,
    pub side: Side,
    pub drain_ms: f64,
}

/// Returns all stalls of a run, in order of time.
///
/// A slice is listed if its drain took longer than half of its active window.
///
/// Example: the window is 50 ms long. A delayed acknowledgement causes a drain of 40 ms, so the slice is listed.
pub fn stalls(epochs: &[Epoch]) -> Vec<Stall> {
    let slices = epochs.iter().enumerate().flat_map(|(epoch_idx, epoch)| {
        let slices = epoch.slices.iter().enumerate();
        slices.map(move |(slice_idx, slice)| (epoch_idx, slice_idx, slice))
    });
    let is_stall = |(epoch_idx, slice_idx, slice): (usize, usize, &Slice)| {
        (slice.drain_ns > slice.active_ns / 2).then(|| Stall {
            epoch_idx,
            slice_idx,
            side: slice.side,
            drain_ms: slice.drain_ns as f64 / 1e6,
        })
    };
    slices.filter_map(is_stall).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::v1_epochs;

    #[test]
    fn a_stall_belongs_to_its_arm() {
        let mut epochs = v1_epochs();
        assert_eq!(stalls(&epochs), []);
        epochs[2].slices[3].drain_ns = 40_000_000;
        epochs[2].slices[4].drain_ns = 25_000_000;
        let side = epochs[2].slices[3].side;
        let expected = Stall { epoch_idx: 2, slice_idx: 3, side, drain_ms: 40.0 };
        assert_eq!(stalls(&epochs), [expected]);
    }
}
