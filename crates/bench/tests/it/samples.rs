//! Latencies are kept up to the cap; counts are always kept.

use looptax_bench::{ClientModel, MeasuredEpoch};

use crate::peer::Peers;
use crate::{add_contrast, outcome, plan};

/// Busy-waits of the two contrasts. A slice of 5 ms then has at most five answers in the first contrast and three in
/// the second, so epochs with few answers follow epochs with more.
const INJECT_NS: [u64; 2] = [1_000_000, 2_000_000];

/// Runs six epochs of each contrast, and returns them in chronological order.
fn epochs(max_sample_bytes: usize) -> Vec<MeasuredEpoch> {
    let mut plan = plan(ClientModel::Poll, 1, 6);
    plan.course.max_sample_bytes = max_sample_bytes;
    add_contrast(&mut plan);
    for (contrast, inject_ns) in plan.contrasts.iter_mut().zip(INJECT_NS) {
        for side in &mut contrast.sides {
            side.inject_ns = Some(inject_ns);
        }
    }
    let outcome = outcome(&plan, &mut Peers::right());
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let contrasts = outcome.contrasts.into_iter();
    let mut epochs: Vec<_> = contrasts.flat_map(|it| it.epochs).collect();
    epochs.sort_by_key(|epoch| epoch.raw.slices[0].start_ns);
    epochs
}

fn n_samples(epoch: &MeasuredEpoch) -> usize {
    epoch.samples.iter().map(Vec::len).sum()
}

fn n_completions(epoch: &MeasuredEpoch) -> usize {
    { epoch.raw.slices.iter() }.map(|it| it.completions as usize).sum()
}

/// Checks that epochs keep all their latencies until the first epoch that exceeds the cap, and that no epoch keeps any
/// from then on. A later epoch that would still fit has few answers, so it is a slow epoch.
#[track_caller]
fn check(cap_samples: usize) {
    let epochs = epochs(cap_samples * size_of::<u32>());
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
        assert!(epoch.raw.slices.iter().all(|slice| slice.requests > 0));
    }
}

#[test]
fn epochs_beyond_the_cap_keep_their_counts_only() {
    check(0);
    // Somewhat more than one epoch of each contrast needs; then somewhat more than two epochs of each need.
    check(70);
    check(110);
    check(6 * 8 * (5 + 3));
}
