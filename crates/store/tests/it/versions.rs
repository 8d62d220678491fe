//! Reads a record as looptax wrote it, from `../records`, and checks that changed copies of the record are refused.

use std::fs;
use std::path::Path;

use looptax_model::failure::Explain;
use looptax_model::record::SCHEMA_VERSION;
use looptax_store::{StoreError, load};
use serde_json::{Value, json};

const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/record.json");

#[test]
fn the_kept_record_is_of_this_version_and_is_read() {
    let stated: Value = serde_json::from_slice(&fs::read(KEPT).unwrap()).unwrap();
    assert_eq!(stated["schema_version"], SCHEMA_VERSION);
    let record = load(Path::new(KEPT)).unwrap();
    assert_eq!(stated["id"], record.id);
    assert!(!record.comparisons.is_empty());
}

/// Changes the stored record, and returns the error of reading it.
fn error_of(change: impl FnOnce(&mut Value)) -> StoreError {
    let text = fs::read(KEPT).unwrap();
    let mut record = serde_json::from_slice(&text).unwrap();
    change(&mut record);
    error_of_text(record.to_string().as_bytes())
}

fn error_of_text(text: &[u8]) -> StoreError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, text).unwrap();
    load(&path).unwrap_err()
}

#[track_caller]
fn check_broken(pointer: &str, wrong: Value, field: &str) {
    let error = error_of(|record| *record.pointer_mut(pointer).unwrap() = wrong);
    let message = format!("is broken at `{field}`");
    assert!(error.to_string().ends_with(&message), "{error}");
    assert!(error.hint().unwrap().contains("changed"), "{error:?}");
}

#[test]
fn a_field_that_is_wrong_is_named() {
    check_broken("/comparisons/1/tax/0/verdict", json!("maybe"), "comparisons[1].tax[0].verdict");
    check_broken("/comparisons/0/tax/0/throughput_pct", json!(26.4), "comparisons[0].tax[0].throughput_pct");
    check_broken(
        "/comparisons/2/raw/epochs/5/slices/7/completions",
        json!(-1),
        "comparisons[2].raw.epochs[5].slices[7].completions",
    );
    check_broken("/looks/1/arms", json!({}), "looks[1].arms");
    check_broken("/host/cpus", json!("two"), "host.cpus");
    check_broken("/seed", json!(42), "seed");
}

#[test]
fn a_field_that_is_missing_is_named() {
    let error = error_of(|record| {
        let arm = record.pointer_mut("/comparisons/0/arms/1").unwrap();
        arm.as_object_mut().unwrap().remove("endpoint").unwrap();
    });
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(error.to_string().ends_with("is broken at `comparisons[0].arms[1]`"), "{error}");
    assert!(cause.contains("missing field `endpoint`"), "{cause}");
}

#[test]
fn a_version_that_is_not_known_is_told_before_anything_else() {
    let error = error_of(|record| {
        record["schema_version"] = json!(SCHEMA_VERSION + 1);
        record["comparisons"] = json!("of another form");
    });
    let stated = format!("has schema version {}", SCHEMA_VERSION + 1);
    assert!(error.to_string().contains(&stated), "{error}");
    assert!(error.hint().unwrap().contains("newer looptax"), "{error:?}");
}

#[test]
fn a_record_that_is_cut_off_says_in_which_field_it_ends() {
    let text = fs::read(KEPT).unwrap();
    let whole = text.trim_ascii_end().len();
    let after = |words: &str| {
        let text = String::from_utf8_lossy(&text);
        text.find(words).unwrap() + words.len()
    };
    for (end, field) in [
        (after("\"cpu_model\":\"A p"), "host.cpu_model"),
        (after("\"slices\":["), "comparisons[0].raw.epochs[0].slices"),
        // A name that is cut off cannot be identified, so the error names the object that contains it.
        (after("\"slices\":[{\"arm_i"), "comparisons[0].raw.epochs[0].slices[0]"),
        // The last object is complete, and nothing follows it.
        (whole - 1, "."),
    ] {
        let error = error_of_text(&text[..end]);
        let message = format!("is broken at `{field}`");
        assert!(error.to_string().ends_with(&message), "{error}");
        assert!(error.hint().unwrap().contains("was cut off"), "{end}");
    }
    // To save time not each length is tried. The step is a prime, so that all kinds of places are tried.
    for end in (0..whole).step_by(1009) {
        let error = error_of_text(&text[..end]);
        assert!(error.hint().unwrap().contains("was cut off"), "{end}");
    }
}

#[test]
fn r44_a_number_out_of_its_meaning_is_refused_with_its_place() {
    let error = error_of(|record| record["comparisons"][0]["tax"][0]["alpha"] = json!(2));
    let place = "is broken at `comparisons[0].tax[0].alpha`";
    assert!(error.to_string().ends_with(place), "{error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    let expected = "it is 2; a probability has to be between 0 and 1";
    assert!(cause.starts_with(expected), "{cause}");
    check_broken("/comparisons/1/tax/0/theta/value", json!(1e300), "comparisons[1].tax[0].theta.value");
    check_broken("/comparisons/0/connections", json!(0), "comparisons[0].connections");
}

#[test]
fn r44_what_does_not_fit_together_is_refused_with_its_comparison() {
    let error = error_of(|record| record["comparisons"][1]["tax"] = json!([]));
    assert!(error.to_string().ends_with("is broken at `comparisons[1]`"), "{error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("tax has 0 entries instead of 1"), "{cause}");
}
