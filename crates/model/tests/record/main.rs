//! Checks that a saved record agrees with the published schema, and that reading it gives the same record.
//!
//! All checks use two records: one with every field filled, and one with as few fields as possible.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod ranges;
mod results;
mod samples_of_records;

use looptax_model::record::{Estimate, Figure, METHOD_VERSION, Record, SCHEMA_VERSION, schema};
use samples_of_records::{maximal, minimal};
use serde_json::{Value, json};

fn problems_with(value: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    validator.iter_errors(value).map(|error| error.to_string()).collect()
}

#[track_caller]
fn check_fits(record: &Record) {
    let value = serde_json::to_value(record).unwrap();
    assert_eq!(problems_with(&value), Vec::<String>::new());
    let text = serde_json::to_string(record).unwrap();
    assert_eq!(&serde_json::from_str::<Record>(&text).unwrap(), record);
}

#[test]
fn the_schema_is_a_schema_of_draft_2020_12() {
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(jsonschema::meta::is_valid(&schema));
}

#[test]
fn records_fit_the_schema_and_come_back() {
    check_fits(&minimal());
    check_fits(&maximal());
}

#[test]
fn a_null_may_also_be_missing() {
    let mut value = serde_json::to_value(maximal()).unwrap();
    for path in ["/host", "/comparisons/0/arms/0/proof", "/comparisons/0/raw/epochs/0"] {
        let object = value.pointer_mut(path).and_then(Value::as_object_mut).unwrap();
        object.retain(|_, field| !field.is_null());
    }
    assert_eq!(problems_with(&value), Vec::<String>::new());
    serde_json::from_value::<Record>(value).unwrap();
}

#[track_caller]
fn check_refused(pointer: &str, wrong: Value) {
    let mut value = serde_json::to_value(maximal()).unwrap();
    *value.pointer_mut(pointer).unwrap() = wrong;
    assert_ne!(problems_with(&value), Vec::<String>::new(), "{pointer}");
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    check_refused("/schema_version", json!(SCHEMA_VERSION + 1));
    check_refused("/seed", json!(42));
    check_refused("/comparisons/0/client", json!("Poll"));
    check_refused("/comparisons/0/tax/0/verdict", json!("maybe"));
    check_refused("/comparisons/0/tax/0/throughput_pct", json!(16.0));
    check_refused("/comparisons/0/tax/0/throughput_pct/value", json!(null));
    check_refused("/comparisons/0/raw/epochs/0/slices/0/completions", json!(-1));
    check_refused("/comparisons", json!(null));
}

#[test]
fn the_words_are_those_of_the_issue() {
    let value = serde_json::to_value(maximal()).unwrap();
    let comparison = &value["comparisons"][0];
    assert_eq!(comparison["client"], "poll-first");
    assert_eq!(comparison["placement"]["asked"], "client-pinned");
    assert_eq!(comparison["tax"][0]["verdict"], "difference");
    assert_eq!(comparison["tax"][0]["direction"], "other_slower");
    assert_eq!(comparison["tax"][0]["throughput_pct"]["lo"], 15.4);
    assert_eq!(comparison["tax"][0]["latency_us"]["p999"]["na"], "needs about 40 s");
    assert_eq!(comparison["raw"]["epochs"][0]["samples"][1], Value::Null);
    assert_eq!(value["seed"], "fedcba9876543210");
    assert_eq!(value["method_version"], METHOD_VERSION);
}

#[test]
fn floats_come_back_bit_for_bit() {
    let awkward = [
        0.1 + 0.2,
        -0.0,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        1e18,
        1.0 / 3.0,
        2f64.powi(53) + 2.0,
        123_456_789.123_456_79,
        2.225_073_858_507_201e-308,
        -1e17,
    ];
    for value in awkward {
        let figure = Figure::new(value, -value, value, 7);
        let text = serde_json::to_string(&figure).unwrap();
        let Figure::Known(Estimate { value: found, lo, hi, .. }) = serde_json::from_str(&text).unwrap() else {
            panic!("{text} came back without a value");
        };
        assert_eq!(found.to_bits(), value.to_bits(), "{text}");
        assert_eq!(lo.map(f64::to_bits), Some((-value).to_bits()), "{text}");
        assert_eq!(hi.map(f64::to_bits), Some(value.to_bits()), "{text}");
    }
}
