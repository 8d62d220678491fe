//! Each client model receives its answers, and its counts are consistent.

use std::collections::BTreeSet;

use looptax_bench::{ClientModel, MeasuredEpoch, allowed_cores};
use looptax_model::record::Slice;
use looptax_model::stats::{Side, StopCause};

use crate::peer::{Answer, Peers, Script};
use crate::{outcome, plan};

#[track_caller]
fn check(client: ClientModel, connections: usize, answer: Answer) {
    let mut peers = Peers::new([Script::always(answer); 2]);
    let outcome = outcome(&plan(client, connections, 2), &mut peers);
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert_eq!((outcome.n_warm_up_epochs, outcome.is_interrupted), (1, false));
    let contrast = &outcome.contrasts[0];
    assert_eq!(contrast.epochs.len(), 2);
    let (_, cause) = contrast.stopped.unwrap();
    assert_ne!(cause, StopCause::Invalid);
    for epoch in &contrast.epochs {
        check_epoch(epoch, client, connections);
    }
    check_totals(peers, &contrast.epochs);
}

#[track_caller]
fn check_epoch(epoch: &MeasuredEpoch, client: ClientModel, connections: usize) {
    assert!(epoch.raw.answers_agree);
    let n_threads =
        if client == ClientModel::Event { connections.min(allowed_cores().unwrap().len()) } else { connections };
    // Each thread has a separate core, unless there are more threads than cores.
    let cores: BTreeSet<Option<u32>> = epoch.raw.client_cores.iter().copied().collect();
    assert_eq!(cores.len(), n_threads.min(allowed_cores().unwrap().len()));
    assert_eq!(epoch.raw.client_cores.len(), connections);
    assert_eq!(epoch.raw.server_cores.len(), connections);
    for slice in &epoch.raw.slices {
        check_slice(slice, client, connections as u64);
    }
    for side in Side::BOTH {
        let slices = epoch.raw.slices_of(side);
        let counted: u64 = slices.map(|it| it.completions - it.n_unsampled).sum();
        assert_eq!(epoch.samples[side.idx()].len() as u64, counted);
    }
}

#[track_caller]
fn check_slice(slice: &Slice, client: ClientModel, connections: u64) {
    assert!(slice.requests >= slice.completions + slice.drained, "{slice:?}");
    assert!(slice.requests >= connections, "{slice:?}");
    // On each connection, the last answer arrived after the slice's end, and only that one.
    assert_eq!(slice.drained, connections);
    assert_eq!(slice.drained_ns.len() as u64, connections);
    assert!(slice.early <= slice.completions);
    assert_eq!(slice.sends, slice.requests);
    assert!(slice.receives >= slice.requests);
    match client {
        ClientModel::Block => assert_eq!(slice.waits, 0),
        ClientModel::PollFirst => assert!(slice.waits >= slice.requests),
        // One wait can report several connections, but always reports at least one.
        ClientModel::Event => assert!((1..=slice.receives).contains(&slice.waits)),
        ClientModel::Poll => {}
    }
    assert_eq!(slice.injected_ns, 0);
}

/// Checks that the peers received as many requests as the slices counted, and that each connection had its priming.
#[track_caller]
fn check_totals(peers: Peers, epochs: &[MeasuredEpoch]) {
    for (seen, epoch) in peers.seen()[1..].iter().zip(epochs) {
        for side in Side::BOTH {
            let seen = &seen[side.idx()];
            let slices = epoch.raw.slices_of(side);
            let counted: u64 = slices.map(|slice| slice.requests).sum();
            let n_primed = 20 * seen.len();
            let n_seen: usize = seen.iter().map(Vec::len).sum();
            assert_eq!(n_seen, n_primed + counted as usize);
            assert!(seen.iter().all(|keys| keys.len() >= 20 + 4), "{seen:?}");
        }
    }
}

#[test]
fn every_model_completes_with_one_and_with_several_connections() {
    for client in ClientModel::ALL {
        for connections in [1, 3] {
            check(client, connections, Answer::Key);
        }
    }
}

#[test]
fn answers_in_pieces_and_answers_longer_than_the_buffer_are_put_together() {
    for client in ClientModel::ALL {
        for connections in [1, 5] {
            check(client, connections, Answer::Halves);
            check(client, connections, Answer::Long);
        }
    }
}

#[test]
fn every_connection_works_when_the_two_sides_wait_differently() {
    let connections = 1 + allowed_cores().unwrap().len();
    let mut plan = plan(ClientModel::Event, connections, 1);
    plan.contrasts[0].sides[1].client = ClientModel::Poll;
    let mut peers = Peers::right();
    let outcome = outcome(&plan, &mut peers);
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    for slice in &outcome.contrasts[0].epochs[0].raw.slices {
        assert_eq!(slice.drained, connections as u64, "{slice:?}");
    }
    check_totals(peers, &outcome.contrasts[0].epochs);
}
