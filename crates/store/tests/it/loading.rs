//! Files that are not records, were not written by looptax, or are incomplete.

use std::error::Error;
use std::fs;

use looptax_model::failure::Explain;
use looptax_model::record::SCHEMA_VERSION;
use looptax_store::{Existing, StoreError, load, save};

use crate::record;

/// Loads `text` as a record and returns the error.
fn error_of(text: &str) -> StoreError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, text).unwrap();
    load(&path).unwrap_err()
}

fn saved_text() -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    save(&record("first"), &path, Existing::Keep).unwrap();
    fs::read_to_string(&path).unwrap()
}

#[track_caller]
fn check(text: &str, message: &str) {
    let error = error_of(text);
    assert!(error.to_string().ends_with(message), "{error}");
}

#[test]
fn says_what_is_wrong_and_where() {
    let text = saved_text();
    check("{}", "is not a looptax record: it has no schema version");
    check(r#"{"schema_version": null}"#, "is not a looptax record: it has no schema version");
    check(&text.replace("\"cpus\":0", "\"cpus\":\"many\""), "is broken at `host.cpus`");
    check(&text.replace("\"comparisons\":[]", "\"comparisons\":[{}]"), "is broken at `comparisons[0]`");
    check(&format!("{text}{text}"), "is broken at `the end`");
    check("", "is broken at `.`");
    check("not JSON", "is broken at `.`");
}

#[test]
fn a_record_of_another_version_says_which_are_read() {
    let future = saved_text().replace("\"schema_version\":1", "\"schema_version\":77");
    let error = error_of(&future);
    let expected = format!("has schema version 77; this looptax reads version {SCHEMA_VERSION}");
    assert!(error.to_string().ends_with(&expected), "{error}");
    assert!(error.hint().unwrap().contains("newer looptax"));
    // The rest of such a record may have any form.
    check(r#"{"schema_version": 78, "runs": {}}"#, "this looptax reads version 1");
}

#[test]
fn every_cut_gives_an_error_that_names_the_file() {
    let text = saved_text();
    let whole = text.trim_end().len();
    for end in 0..whole {
        let error = error_of(&text[..end]);
        assert!(matches!(error, StoreError::Broken { .. }), "{end}: {error:?}");
        assert!(error.hint().unwrap().contains("was cut off"), "{end}: {error:?}");
        assert!(!error.to_string().contains(&error.source().unwrap().to_string()));
    }
}

#[test]
fn a_deeply_nested_file_is_an_error() {
    let error = error_of(&"[".repeat(1_000_000));
    assert!(matches!(error, StoreError::Broken { .. }), "{error:?}");
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = load(&folder.path().join("none.json")).unwrap_err();
    assert!(error.to_string().contains("none.json"), "{error}");
}
