//! Tests of the spool: waiting reports survive crashes and simultaneous runs.

use std::fs;
use std::path::Path;

use looptax_fleet::{FleetError, Names, Spool};
use looptax_testkit::scratch::Scratch;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::made_up::batch;

fn made(folder: &Path) -> Spool {
    let spool = Spool::new(folder, "postgres://u@collector/x");
    spool.make().unwrap();
    spool
}

#[test]
fn another_collector_has_heard_of_no_record() {
    let scratch = Scratch::new();
    let folder = scratch.file("spool");
    let spool = made(&folder);
    assert!(spool.told_records().unwrap().is_empty());
    spool.set_told_records(["a", "b"].into_iter()).unwrap();
    let told = spool.told_records().unwrap();
    assert_eq!(told, ["a".to_owned(), "b".to_owned()].into());
    let other = Spool::new(&folder, "clickhouse://u@collector/x");
    assert!(other.told_records().unwrap().is_empty());
}

#[test]
fn a_report_is_there_until_it_is_removed() {
    let scratch = Scratch::new();
    let folder = scratch.file("spool");
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let kept: Vec<_> = (0..3).map(|n| batch(&mut rng, n, &Names::default())).collect();
    for batch in &kept {
        made(&folder).keep(batch).unwrap();
    }
    // The same report is stored again, as after a crash; there is still one file.
    let spool = made(&folder);
    spool.keep(&kept[1]).unwrap();
    let mut found = Vec::new();
    for path in spool.waiting().unwrap() {
        let waiting = spool.read(&path).unwrap().unwrap();
        spool.remove(&waiting.path).unwrap();
        // Another looptax has removed the report in the meantime.
        spool.remove(&waiting.path).unwrap();
        assert!(spool.read(&path).unwrap().is_none());
        found.push(waiting.batch);
    }
    found.sort_by(|one, other| one.report_id.cmp(&other.report_id));
    assert_eq!(found, kept);
    assert!(spool.waiting().unwrap().is_empty());
}

#[test]
fn half_a_report_is_put_aside_and_what_is_none_left_alone() {
    let scratch = Scratch::new();
    let folder = scratch.file("spool");
    let spool = made(&folder);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let batch = batch(&mut rng, 1, &Names::default());
    spool.keep(&batch).unwrap();
    let whole = fs::read(&spool.waiting().unwrap()[0]).unwrap();
    fs::write(folder.join("half.jsonl"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let read = spool.waiting().unwrap().into_iter().map(|it| spool.read(&it).unwrap());
    let read: Vec<_> = read.flatten().map(|it| it.batch).collect();
    assert_eq!(read, [batch]);
    assert_eq!(spool.waiting().unwrap().len(), 1);
    assert!(folder.join("half.broken").exists());
    assert_eq!(fs::read(folder.join("notes.txt")).unwrap(), b"mine");
}

#[test]
fn a_full_spool_takes_nothing_and_loses_nothing() {
    let scratch = Scratch::new();
    let folder = scratch.file("spool");
    let spool = made(&folder);
    fs::write(folder.join("old.jsonl"), vec![b' '; 64 << 20]).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let found = spool.keep(&batch(&mut rng, 1, &Names::default()));
    assert!(matches!(found, Err(FleetError::Full { .. })), "{found:?}");
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["old.jsonl"]);
}
