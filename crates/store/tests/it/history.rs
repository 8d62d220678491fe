//! The history: every added entry is found, also if two runs add entries at the same time, and a broken file is
//! reported.

use std::fs;
use std::thread;

use looptax_model::failure::Explain;
use looptax_model::record::PastRun;
use looptax_store::{History, StoreError};

use crate::record;

fn run(id: &str, started_at: &str) -> PastRun {
    let mut record = record(id);
    started_at.clone_into(&mut record.started_at);
    PastRun::from_record(&record, Some(format!("/results/{id}.json")))
}

fn ids(history: &History, most: u32) -> Vec<String> {
    let (runs, n_unread) = history.latest(most).unwrap();
    assert_eq!(n_unread, 0);
    runs.into_iter().map(|run| run.id).collect()
}

#[test]
fn runs_are_listed_the_newest_first_and_found_by_the_start_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let history = History::open(&folder.path().join("new/history.sqlite")).unwrap();
    for (id, at) in [
        ("20260102-1", "2026-01-02T00:00:00Z"),
        ("20260103-12", "2026-01-03T00:00:00Z"),
        ("20260103-1", "2026-01-03T00:00:01Z"),
    ] {
        history.add(&run(id, at)).unwrap();
    }
    assert_eq!(ids(&history, 2), ["20260103-1", "20260103-12"]);
    assert_eq!(history.find("20260102").unwrap().id, "20260102-1");
    assert_eq!(history.find("last").unwrap().id, "20260103-1");
    // The whole name of one run is the beginning of the name of another run.
    assert_eq!(history.find("20260103-1").unwrap().id, "20260103-1");
    assert!(matches!(history.find("2026"), Err(StoreError::SeveralRuns { .. })));
    assert!(matches!(history.find("%"), Err(StoreError::NoSuchRun { .. })));
    history.forget("20260103-1").unwrap();
    assert_eq!(ids(&history, 9), ["20260103-12", "20260102-1"]);
    assert!(matches!(history.forget("20260103-1"), Err(StoreError::NoSuchRun { .. })));
}

#[test]
fn a_run_that_is_added_again_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let history = History::open(&folder.path().join("h")).unwrap();
    history.add(&run("a", "2026-01-02T00:00:00Z")).unwrap();
    let mut again = run("a", "2026-01-02T00:00:00Z");
    again.path = None;
    history.add(&again).unwrap();
    assert_eq!(history.latest(9).unwrap().0, [again]);
}

#[test]
fn several_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h");
    thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for idx in 0..25 {
                    let history = History::open(path).unwrap();
                    let id = format!("{writer}-{idx}");
                    history.add(&run(&id, "2026-01-02T00:00:00Z")).unwrap();
                }
            });
        }
    });
    let history = History::open(&path).unwrap();
    assert_eq!(ids(&history, 1000).len(), 100);
}

#[test]
fn a_file_that_is_no_history_is_told_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h");
    let text = "not a database, and long enough to be looked at as one: ".repeat(20);
    fs::write(&path, &text).unwrap();
    let error = History::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::History { .. }), "{error}");
    assert!(error.hint().unwrap().contains("--no-history"));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let error = History::open(&path.join("below")).unwrap_err();
    assert!(matches!(error, StoreError::CreateFolder { .. }), "{error}");
}
