//! A peer that fails ends the run immediately, with an error that names it. The data that were measured before are
//! kept.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_bench::{
    BenchError, ClientModel, ConnectError, Connector, LoadError, Outcome, Plan, Shape, Silent, Stage, Wired, run,
};
use looptax_model::failure::Failure;
use looptax_model::stats::{Side, StopCause};

use crate::peer::{Answer, Peers, Script};
use crate::{MS, outcome, plan};

/// Number of right answers for exactly the untimed requests at the start of a connection.
const N_PRIMING: usize = 20;
/// Number of right answers for the priming and a part of the first slice of [`endless`].
const INTO_A_SLICE: usize = 30;

/// Returns a plan whose first slice ends only by a failure.
fn endless(client: ClientModel, connections: usize) -> Plan {
    let mut plan = plan(client, connections, 2);
    plan.course.shape = plan.course.shape.with_slice(Duration::from_secs(60));
    plan
}

/// Returns peers of which only the other side's follow `script`.
fn other(script: Script) -> Peers {
    Peers::new([Script::always(Answer::Key), script])
}

#[track_caller]
fn failure(outcome: Outcome) -> (Stage, &'static str, LoadError) {
    match outcome.failure {
        Some(BenchError::Request { stage, side, source, .. }) => (stage, side, source),
        other => panic!("no request failed: {other:?}"),
    }
}

/// Runs `plan` with each client model and with `script` on one side. Checks that the run fails in `stage` with the
/// error that `is_expected` accepts.
#[track_caller]
fn check(plan: impl Fn(ClientModel) -> Plan, script: Script, stage: Stage, is_expected: impl Fn(&LoadError) -> bool) {
    for client in ClientModel::ALL {
        let found = failure(outcome(&plan(client), &mut other(script)));
        assert_eq!((found.0, found.1), (stage, "other"), "{client}: {found:?}");
        assert!(is_expected(&found.2), "{client}: {found:?}");
    }
}

fn script(n_right: usize, then: Answer) -> Script {
    Script { n_right, then }
}

fn is_closed(source: &LoadError) -> bool {
    matches!(source, LoadError::Closed)
}

#[test]
fn a_peer_that_closes_is_closed_in_whatever_stage() {
    let one = |client| endless(client, 1);
    check(one, script(5, Answer::Close), Stage::Priming, is_closed);
    // The answer to the first request of the other side's first slice is held back until long after the slice's end.
    let turns = |client| plan(client, 1, 1);
    let held = script(N_PRIMING, Answer::CloseAfter(MS * 200));
    check(turns, held, Stage::Drain, is_closed);
    // Either side may have the first slice, which does not end by itself.
    for client in ClientModel::ALL {
        let script = script(INTO_A_SLICE, Answer::Close);
        let found = failure(outcome(&one(client), &mut Peers::new([script; 2])));
        assert_eq!(found.0, Stage::Slice, "{client}: {found:?}");
        assert!(is_closed(&found.2), "{client}: {found:?}");
    }
}

#[test]
fn wrong_bytes_and_too_few_are_told_apart() {
    let one = |client| endless(client, 1);
    check(one, script(5, Answer::Garbage), Stage::Priming, |source| matches!(source, LoadError::Answer { .. }));
    check(one, script(5, Answer::Short), Stage::Priming, |source| {
        matches!(source, LoadError::Empty { found: 4, least: 8, .. })
    });
}

#[test]
fn a_silent_peer_is_waited_for_as_long_as_the_limit_says() {
    let limit = MS * 100;
    for client in ClientModel::ALL {
        let mut plan = endless(client, 1);
        plan.io_limit = limit;
        plan.course.shape = Shape::short(); // the limit counts from the slice's end
        let script = script(INTO_A_SLICE, Answer::Silence);
        let mut peers = Peers::new([script; 2]).with_limit(limit);
        let (_, _, source) = failure(outcome(&plan, &mut peers));
        assert!(matches!(source, LoadError::Timeout { limit: found } if found == limit), "{client}: {source:?}");
    }
}

#[test]
fn a_panic_in_a_client_thread_ends_the_run_instead_of_hanging_it() {
    let bomb = |n_right| script(n_right, Answer::Bomb);
    let turns = |client| plan(client, 3, 1);
    let is_panic = |source: &LoadError| matches!(source, LoadError::Panicked);
    check(turns, bomb(5), Stage::Priming, is_panic);
    check(turns, bomb(N_PRIMING), Stage::Slice, is_panic);
}

/// Connects a number of times, then fails.
struct Fewer {
    peers: Peers,
    n_left: usize,
}

impl Connector for Fewer {
    fn connect(
        &mut self,
        contrast_idx: usize,
        first: Side,
        coins: u64,
        n: usize,
    ) -> Result<[Vec<Wired>; 2], ConnectError> {
        self.n_left = self.n_left.checked_sub(1).ok_or_else(|| Failure::new("too many connections"))?;
        self.peers.connect(contrast_idx, first, coins, n)
    }
}

#[test]
fn epochs_before_a_failure_are_kept() {
    let mut connector = Fewer { peers: Peers::right(), n_left: 3 };
    let plan = plan(ClientModel::Poll, 1, 5);
    let stop = AtomicBool::new(false);
    let outcome = run(&plan, &mut connector, &mut Silent, &stop).unwrap();
    assert!(matches!(outcome.failure, Some(BenchError::Connect { .. })), "{:?}", outcome.failure);
    assert_eq!(outcome.contrasts[0].epochs.len(), 2); // one of the three epochs was the warm-up
    assert!(outcome.contrasts[0].stopped.is_none());
    assert!(!outcome.is_interrupted);
}

#[test]
fn different_answers_to_the_same_keys_are_invalid() {
    for client in ClientModel::ALL {
        let mut peers = other(Script::always(Answer::OtherKey));
        let outcome = outcome(&plan(client, 3, 4), &mut peers);
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        let contrast = &outcome.contrasts[0];
        assert_eq!(contrast.epochs.len(), 1);
        assert!(!contrast.epochs[0].raw.answers_agree);
        assert!(matches!(contrast.stopped, Some((_, StopCause::Invalid))));
    }
}
