//! Faults that once caused damage; each test runs all faults of the same kind.

use std::sync::{Mutex, PoisonError};

use super::*;

/// One trial at a time: a child that another thread forks would inherit a journal's lock, and hold the lock until the
/// child ends.
static TURN: Mutex<()> = Mutex::new(());

const FAILS: What = What::Meets(Fate::Fails(libc::EIO));
const DIES: What = What::Meets(Fate::Kills);

/// Makes the same fault occur at each call of a kind, in the switch that `which` chooses, or else in the spool.
#[track_caller]
fn check(which: fn(Switching) -> bool, of: fn(&Call) -> bool, what: What) {
    let trial: Box<dyn Trial> = match Switching::all().into_iter().find(|it| which(*it)) {
        Some(it) => Box::new(it),
        None => Box::new(Spooling { is_told: false }),
    };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut ground = Ground::new().unwrap();
    let calls = ground.hold((0, &*trial), &[], &mut Odometer::default()).unwrap();
    let mut n = 0;
    for at in (0..calls.len()).filter(|at| of(&calls[*at])) {
        n += 1;
        let mut odometer = Odometer::default();
        loop {
            ground.hold((0, &*trial), &[Fault { at, what }], &mut odometer).unwrap();
            if !odometer.turn() {
                break;
            }
        }
    }
    assert!(n > 3, "{n} calls");
    assert!(ground.wrong.is_empty(), "{:?}", ground.wrong);
}

/// A folder was not synced to the disk, so a new file remained after a switch that was reported as undone.
#[test]
fn r50_a_file_whose_new_name_is_not_on_the_disk_is_put_back() {
    check(|it| !it.makes && !it.fails, Call::is_sync, FAILS);
}

/// A disk that stayed full left a new file in place, while the hint said that nothing was changed.
#[test]
fn r50_who_cannot_put_back_does_not_say_that_nothing_was_changed() {
    check(|it| !it.makes && !it.fails, Call::is_sync, What::Stays(libc::ENOSPC));
}

/// The folder of the first switch was not synced into its parent folder: after a loss of power, the journal was
/// missing.
#[test]
fn r50_the_journal_of_the_first_switch_outlasts_a_loss_of_power() {
    check(|it| !it.makes && !it.fails, Call::is_sync, What::Power);
}

/// Files that were written before there was a plan remained forever, with passwords in them.
#[test]
fn r50_the_next_switch_takes_away_what_a_killed_one_laid_down() {
    check(|it| !it.makes && it.finishes, Call::changes, DIES);
}

/// A created file that could not be read for a moment was treated as another program's file, and the switch was
/// reported as undone.
#[test]
fn r50_a_made_file_that_cannot_be_read_is_not_said_to_be_away() {
    check(|it| it.makes && it.fails, |it| it.name() == "read", FAILS);
}

/// Temporary files of reports remained after a run was killed, and the spool's folder was not synced into its parent
/// folder.
#[test]
fn r50_a_killed_run_leaves_nothing_in_spool_and_collector() {
    check(|_| false, Call::changes, DIES);
    check(|_| false, Call::changes, What::Power);
}

/// Without this check, the tests above would prove nothing.
#[test]
fn what_is_lost_of_a_file_that_nobody_synced_is_found() {
    struct Careless;
    impl Trial for Careless {
        fn words(&self) -> String {
            "a file written in its place".to_owned()
        }
        fn lay_down(&self, root: &Path) -> Result<()> {
            Ok(fs::write(root.join("a"), "old")?)
        }
        fn n_phases(&self) -> usize {
            1
        }
        fn work(&self, root: &Path, _: usize) -> i32 {
            let done = fs::write(root.join("b"), "new").and_then(|()| fs::rename(root.join("b"), root.join("a")));
            let folder = done.and_then(|()| fs::File::open(root)).and_then(|it| it.sync_all());
            i32::from(folder.is_err())
        }
        fn judge(&self, root: &Path, _: usize, _: &Ended) -> Result<Vec<String>> {
            let text = fs::read_to_string(root.join("a"))?;
            Ok(if ["old", "new"].contains(&&*text) { Vec::new() } else { vec![text] })
        }
        fn settle(&self, _: &Path, _: &[Ended]) -> Result<Vec<String>> {
            Ok(Vec::new())
        }
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut ground = Ground::new().unwrap();
    let calls = ground.play(&Careless, &[], &mut |_| 0).unwrap().calls;
    let last = calls.iter().rposition(Call::is_sync).unwrap();
    let mut odometer = Odometer::default();
    let mut found = Vec::new();
    loop {
        odometer.at = 0;
        let fault = Fault { at: last, what: What::Power };
        found.extend(ground.play(&Careless, &[fault], &mut |n| odometer.choose(n)).unwrap().wrong);
        if !odometer.turn() {
            break;
        }
    }
    // The name is on the disk, but its bytes are not.
    assert!(found.contains(&String::new()), "{found:?}");
}
