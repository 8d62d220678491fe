//! Latencies are kept up to the cap; counts always.

use looptax_bench::{ClientModel, EpochData, Plan};

use crate::peer::Peers;
use crate::{outcome, plan};

/// Busy-waits that leave a slice of 5 ms at most five answers, an epoch 40.
const INJECT_NS: u64 = 1_000_000;

fn epochs(n_epochs: usize, max_sample_bytes: usize) -> Vec<EpochData> {
    let mut plan = Plan {
        max_sample_bytes,
        ..plan(ClientModel::Poll, 1, n_epochs)
    };
    for side in &mut plan.contrasts[0].sides {
        side.inject_ns = Some(INJECT_NS);
    }
    let mut outcome = outcome(&plan, &mut Peers::right());
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    outcome.contrasts.swap_remove(0).epochs
}

fn n_samples(epoch: &EpochData) -> usize {
    epoch.samples.iter().map(Vec::len).sum()
}

fn n_completions(epoch: &EpochData) -> usize {
    epoch.slices.iter().map(|it| it.completions as usize).sum()
}

/// Epochs keep all their latencies until the first for which there is no room; from then on, none
/// does: one that would fit holds few, so it is a slow one.
#[track_caller]
fn check(cap_samples: usize) {
    let epochs = epochs(12, cap_samples * size_of::<u32>());
    assert_eq!(epochs.len(), 12);
    let mut room = cap_samples;
    for epoch in &epochs {
        let n_completions = n_completions(epoch);
        let (n_kept, room_left) = match room.checked_sub(n_completions) {
            Some(room_left) => (n_completions, room_left),
            None => (0, 0),
        };
        assert_eq!(n_samples(epoch), n_kept);
        room = room_left;
        assert!(epoch.slices.iter().all(|slice| slice.requests > 0));
    }
}

#[test]
fn epochs_beyond_the_cap_keep_their_counts_only() {
    check(0);
    check(100); // two epochs and a half
    check(12 * 40);
}
