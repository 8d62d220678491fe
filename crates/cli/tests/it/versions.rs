//! The record that is kept for tests, in every view; and broken records, with every command.

use std::fs;
use std::io::Write as _;

use looptax_model::record::SCHEMA_VERSION;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::fixture::{exe, saved};
use crate::record::{analyze, check_against_schema};

const READERS: [&[&str]; 5] = [
    &["show", "r.json"],
    &["show", "r.json", "--md", "-"],
    &["show", "r.json", "--html", "r.html"],
    &["diff", "r.json", "r.json"],
    &["gate", "r.json", "--max-tax", "5%"],
];

fn kept() -> Vec<u8> {
    fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/records/record.json")).unwrap()
}

/// Makes a folder with `text` as `r.json`.
fn with(text: &[u8]) -> Scratch {
    let scratch = Scratch::new();
    let file = fs::File::create(scratch.file("r.json"));
    file.and_then(|mut file| file.write_all(text)).unwrap();
    scratch
}

fn looptax(scratch: &Scratch, args: &[&str]) -> Finished {
    Looptax::new(exe(), scratch).args(args.iter().copied()).run()
}

#[track_caller]
fn check_says(scratch: &Scratch, args: &[&str], words: &[&str]) {
    let run = looptax(scratch, args);
    run.expect_code(0);
    for words in words {
        if !run.stdout.contains(words) {
            run.fail(&format!("`{words}` was expected on stdout"));
        }
    }
}

#[test]
fn every_view_of_a_record_says_what_it_holds() {
    let scratch = with(&kept());
    let heading = "Redis 7.0.15, get, private server on this machine";
    check_says(&scratch, &["show", "r.json"], &[heading, "30.6 % [28.1, 32.5]", "throughput by number of connections"]);
    check_says(&scratch, &["show", "r.json", "--md", "-"], &[heading, "\\[28.1,\u{a0}32.5\\]", "| 4 | split |"]);
    check_says(&scratch, &["show", "r.json", "--csv", "-"], &[",get,1,same,event,tcp,unix,throughput_tax,%,30.59"]);
    check_says(&scratch, &["show", "r.json", "--html", "-"], &[heading, "[28.1,\u{a0}32.5]"]);
}

#[test]
fn a_kept_record_is_judged_again_as_it_was() {
    let scratch = with(&kept());
    let (first, again) = (saved(&scratch), analyze(&scratch));
    check_against_schema(&again);
    let comparisons = first["comparisons"].as_array().unwrap();
    for (idx, comparison) in comparisons.iter().enumerate() {
        let (was, is) = (&comparison["tax"][0], &again["comparisons"][idx]["tax"][0]);
        for name in ["verdict", "theta", "throughput_pct", "reason", "cpu_us"] {
            assert_eq!(was[name], is[name], "{name}");
        }
    }
}

#[test]
fn where_all_epochs_were_disturbed_the_verdict_says_so() {
    let scratch = with(&kept());
    let again = analyze(&scratch);
    let tax = &again["comparisons"][2]["tax"][0];
    assert_eq!(tax["verdict"], "difference", "{}", tax["reason"]);
    assert_eq!(tax["direction"], "other_slower");
    assert_eq!(tax["disturbance"]["is_throughout"], true);
    let text = looptax(&scratch, &["show", "r.json"]).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "while the machine was busy (41.6 % other work); the size on a quiet machine is not known";
    assert!(text.contains(words), "{text}");
}

#[track_caller]
fn check_refused(text: &[u8], words: &[&str]) {
    let scratch = with(text);
    for args in READERS {
        looptax(&scratch, args).expect_error(2, words);
    }
    assert!(!scratch.file("r.html").exists(), "a page of nothing");
}

#[test]
fn what_is_broken_cut_off_or_of_tomorrow_is_one_error_that_names_the_field() {
    let whole = kept();
    let changed = |pointer: &str, wrong: Value| {
        let mut record: Value = serde_json::from_slice(&whole).unwrap();
        *record.pointer_mut(pointer).unwrap() = wrong;
        record.to_string().into_bytes()
    };
    check_refused(
        &changed("/comparisons/1/tax/0/verdict", json!("maybe")),
        &["`r.json` is broken at `comparisons[1].tax[0].verdict`"],
    );
    check_refused(&changed("/schema_version", json!(SCHEMA_VERSION + 1)), &["has schema version", "newer looptax"]);
    check_refused(&whole[..whole.len() / 2], &["`r.json` is broken at `comparisons[1].", "was cut off"]);
}
