//! Calls of database drivers in programs: the servers to which they connect.

use serde::Deserialize;

use crate::apps::{fields, reading};
use crate::collection::claim_of;

#[derive(Deserialize)]
struct Cases {
    /// The file extension, the text, and the expected claims, separated by commas.
    case: Vec<[String; 3]>,
}

fn cases() -> Vec<[String; 3]> {
    let cases: Cases = toml::from_str(include_str!("../data/calls.toml")).unwrap();
    cases.case
}

fn path_and_text(ending: &str, text: &str) -> (String, String) {
    let head = if ending == "php" { "<?php\n" } else { "" };
    (format!("/srv/own/it.{ending}"), format!("{head}{text}"))
}

#[test]
fn what_a_call_says_is_claimed_and_nothing_is_written_there() {
    let mut wrong = Vec::new();
    for [ending, text, expected] in cases() {
        let (path, text) = path_and_text(&ending, &text);
        let reading = reading(&path, text.as_bytes());
        let found: Vec<String> = reading.found.iter().map(claim_of).collect();
        let is_written =
            reading.found.iter().any(|it| it.rewrites(&fields(it.kind), &text).iter().any(Option::is_some));
        if found.join(", ") != expected || is_written {
            wrong.push(format!("{path}: {found:?}, right is {expected}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn programs_that_are_cut_off_end_without_a_panic() {
    for [ending, text, _] in cases() {
        let (path, text) = path_and_text(&ending, &text);
        for at in (0..text.len()).step_by(7).filter(|it| text.is_char_boundary(*it)) {
            for bent in [text[..at].to_owned(), format!("{}({}", &text[..at], &text[at..])] {
                reading(&path, bent.as_bytes());
            }
        }
    }
}
