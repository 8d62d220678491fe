//! If it is to stop, the engine ends between slices and keeps all complete epochs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use looptax_bench::{ClientModel, Observer, Phase, Progress, Silent, glimpse, run};

use crate::peer::Peers;
use crate::{MS, plan};

/// Sets `stop` at an epoch.
struct Stopper<'a> {
    stop: &'a AtomicBool,
    at: (Phase, usize),
}

impl Observer for Stopper<'_> {
    fn epoch_ended(&mut self, progress: &Progress<'_>) {
        if (progress.phase, progress.n_epochs) == self.at {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[track_caller]
fn check(at: (Phase, usize), n_kept: usize) {
    let stop = AtomicBool::new(false);
    let mut stopper = Stopper { stop: &stop, at };
    let plan = plan(ClientModel::Poll, 2, 50);
    let outcome = run(&plan, &mut Peers::right(), &mut stopper, &stop).unwrap();
    assert!(outcome.is_interrupted && outcome.failure.is_none());
    assert_eq!(outcome.contrasts[0].epochs.len(), n_kept);
    assert!(outcome.contrasts[0].stopped.is_none());
}

#[test]
fn stopping_keeps_the_epochs_so_far() {
    check((Phase::WarmUp, 1), 0);
    check((Phase::Measuring, 2), 2);
}

#[test]
fn after_the_deadline_no_epoch_begins_and_all_requests_are_counted() {
    let mut plan = plan(ClientModel::Poll, 2, 50);
    plan.course.stopping.deadline = Some(Instant::now());
    let stop = AtomicBool::new(false);
    let outcome = run(&plan, &mut Peers::right(), &mut Silent, &stop).unwrap();
    assert!(!outcome.is_interrupted && outcome.failure.is_none());
    assert_eq!(outcome.contrasts[0].epochs.len(), 0);
    assert_eq!(outcome.n_warm_up_epochs, 1);
    assert!(outcome.n_requests > 0);
}

#[test]
fn a_look_told_to_stop_shows_nothing() {
    let stop = AtomicBool::new(true);
    let plan = plan(ClientModel::Poll, 1, 1);
    let seen = glimpse(&plan, &mut Peers::right(), MS, &stop).unwrap();
    assert_eq!(seen, None);
}
