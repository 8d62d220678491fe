//! Kills looptax at random moments of a switch: each file then has its old or its new text, and a new file is either
//! complete or missing. The next looptax finishes or undoes the switch.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use looptax_model::record::{FileHolds, ListedFile, SwitchStanding};
use looptax_switch::{End, list, open};
use looptax_testkit::patience;

use crate::kept::House;

const KILLS: u32 = 200;
/// The time limit for a started program to begin its work.
const BEGIN: Duration = Duration::from_secs(30);
/// The longest time before the program is killed, in µs: enough for some dozen switches.
const LONGEST_US: u32 = 30_000;

pub(crate) fn back_and_forth() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.parent().and_then(Path::parent).expect("target/debug");
    folder.join("examples/back_and_forth")
}

#[test]
fn of_two_files_each_is_old_or_new_after_every_kill_and_the_next_start_ends_it() {
    let house = House::new();
    let size = 20_000;
    let old = "old".repeat(size);
    let new = "new".repeat(size);
    let paths = [house.write("a.env", &old), house.write("b.env", &old)];
    let made = house.root.path().join("app/unit.d/50.conf");
    let is_away_or_whole = || fs::read_to_string(&made).is_ok_and(|text| text == new) || !made.exists();
    let mut n_interrupted = 0;
    for round in 0..KILLS {
        let mut child = Command::new(back_and_forth())
            .arg(house.root.path().join("data"))
            .args(&paths)
            .arg(&made)
            .stderr(Stdio::null())
            .spawn()
            .expect("the example is built with the tests");
        let begun = house.root.path().join("data/switches");
        patience::wait_for("its first folder", BEGIN, || begun.exists().then_some(()));
        // This spreads the times over the whole range without a clock or a random generator.
        let wait = u64::from(round * 7919 % LONGEST_US);
        std::thread::sleep(Duration::from_micros(wait));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "it ended by itself in round {round}");

        for path in &paths {
            let text = fs::read_to_string(path).unwrap();
            assert!(text == old || text == new, "round {round}: {text:.60}");
        }
        assert!(is_away_or_whole(), "round {round}");
        let (known, unread) = list(&house.kept).unwrap();
        assert!(unread.is_empty(), "{unread:?}");
        for switch in known.iter().filter(|it| {
            use SwitchStanding::{Interrupted, Planned, UnderWay};
            matches!(it.standing, Interrupted | Planned | UnderWay)
        }) {
            n_interrupted += u32::from(switch.standing == SwitchStanding::Interrupted);
            let mut work = open(&house.kept, &switch.id).unwrap();
            if round % 2 == 0 {
                work.finish().unwrap();
                assert_eq!(fs::read_to_string(&made).unwrap(), new);
                assert!(paths.iter().all(|path| fs::read_to_string(path).unwrap() == new));
            }
            work.put_back("for the next round", End::Undone).unwrap();
        }
        assert!(paths.iter().all(|path| fs::read_to_string(path).unwrap() == old), "round {round}");
        assert_eq!(house.names(), ["a.env", "b.env"], "round {round}");
        let (known, _) = list(&house.kept).unwrap();
        let is_settled = |it: &ListedFile| it.holds == FileHolds::Old;
        assert!(known.iter().all(|it| it.files.iter().all(is_settled)));
        let data = house.root.path().join("data");
        assert!(!data.exists() || fs::remove_dir_all(data).is_ok());
    }
    // Once it has begun, the program does nothing but switch, so some kills must have interrupted a switch.
    assert!(n_interrupted > 0, "nothing was hit at work");
}
