//! Checks that every number of a saved form has a range in the schema, that a number outside its range is refused, and
//! that lists that belong together must have the same length.

use looptax_model::record::{
    Checked, CollectorTables, Diff, Doctor, Fleet, FleetHost, FleetList, FleetMachine, FleetMovers, FleetPair, Found,
    ListedSwitch, PastRun, Record, Reported, Reproduction, Slice, Spelling, StreamLine, Switched, Watched, WatchedDiff,
    schema, schema_of,
};
use serde_json::{Value, json};

use crate::samples_of_records::maximal;

/// Collects the places in a schema where a number has no lower limit or no upper limit.
fn without_ends(schema: &Value, place: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(all) => {
            let kinds = all.get("type").map(Value::to_string).unwrap_or_default();
            let is_number = kinds.contains("\"integer\"") || kinds.contains("\"number\"");
            let has = |names: [&str; 2]| names.iter().any(|it| all.contains_key(*it));
            let has_ends = has(["minimum", "exclusiveMinimum"]) && has(["maximum", "exclusiveMaximum"]);
            if is_number && !has_ends && !all.contains_key("const") {
                found.push(place.to_owned());
            }
            for (key, value) in all {
                without_ends(value, &format!("{place}/{key}"), found);
            }
        }
        Value::Array(all) => {
            for (idx, value) in all.iter().enumerate() {
                without_ends(value, &format!("{place}/{idx}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_number_of_every_form_has_two_ends() {
    for (name, schema) in [
        ("record", schema()),
        ("reproduce", schema_of::<Reproduction>()),
        ("found", schema_of::<Found>()),
        ("checked", schema_of::<Checked>()),
        ("spelling", schema_of::<Vec<Spelling>>()),
        ("switched", schema_of::<Switched>()),
        ("switches", schema_of::<Vec<ListedSwitch>>()),
        ("doctor", schema_of::<Doctor>()),
        ("reported", schema_of::<Reported>()),
        ("tables", schema_of::<CollectorTables>()),
        ("fleet", schema_of::<Fleet>()),
        ("hosts", schema_of::<FleetList<FleetHost>>()),
        ("pairs", schema_of::<FleetList<FleetPair>>()),
        ("movers", schema_of::<FleetMovers>()),
        ("machines", schema_of::<Vec<FleetMachine>>()),
        ("stream", schema_of::<StreamLine>()),
        ("runs", schema_of::<Vec<PastRun>>()),
        ("diff", schema_of::<Diff>()),
        ("watched", schema_of::<Watched>()),
        ("watched diff", schema_of::<WatchedDiff>()),
    ] {
        let mut found = Vec::new();
        without_ends(&schema, name, &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
}

fn numbers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(at.to_owned()),
        Value::Array(all) => {
            for (idx, value) in all.iter().enumerate() {
                numbers(value, &format!("{at}/{idx}"), found);
            }
        }
        Value::Object(all) => {
            for (key, value) in all {
                numbers(value, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn no_number_of_a_record_is_read_that_its_schema_refuses() {
    let whole = serde_json::to_value(maximal()).unwrap();
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let mut pointers = Vec::new();
    numbers(&whole, "", &mut pointers);
    assert!(pointers.len() > 200, "{}", pointers.len());
    for pointer in pointers.iter().filter(|it| *it != "/schema_version") {
        for wrong in [json!(-1e300), json!(1e300), json!(u64::MAX), json!(-1)] {
            let mut value = whole.clone();
            *value.pointer_mut(pointer).unwrap() = wrong.clone();
            let is_valid = validator.is_valid(&value);
            let read = serde_json::from_value::<Record>(value);
            assert!(is_valid || read.is_err(), "{pointer} is read as {wrong}");
            // Every number has an upper limit, so 1e300 is always refused.
            assert!(wrong != json!(1e300) || read.is_err(), "{pointer} is read as {wrong}");
        }
    }
}

#[track_caller]
fn check(pointer: &str, wrong: Value, words: &str) {
    let mut value = serde_json::to_value(maximal()).unwrap();
    *value.pointer_mut(pointer).unwrap() = wrong;
    let error = serde_json::from_value::<Record>(value).unwrap_err();
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let comparison = "/comparisons/0";
    let at = |rest: &str| format!("{comparison}{rest}");
    check(&at("/tax"), json!([]), "tax has 0 entries instead of 1");
    check(&at("/arms/1/name"), json!("tls"), "but arms[0] and arms[1] have other names");
    check(&at("/tax/0/look"), json!(1), "tax[0].look is 1, but its list has 1 entries");
    check(&at("/tax/0/alpha"), json!(0.5), "0.00417 was planned for its `look`");
    check(&at("/raw/epochs/0/pair"), json!([0, 2]), "raw.epochs[0]: pair is 2, but its list has 2 entries");
    check(&at("/raw/epochs/0/order"), json!(""), "raw.epochs[0]: slices has");
    check(&at("/raw/epochs/0/slices/0/arm_idx"), json!(7), "slices[0].arm_idx is 7");
    check(&at("/why/0/layers"), json!([]), "why[0]: epochs[0]: layer_ns has 2 entries");
    check(&at("/why/0/functions/0/ns"), json!([]), "functions[0].ns has 0 entries");
    check(&at("/trial/servers"), json!([]), "trial: arms[0].connections has 1 entries");
    check(&at("/trial/counted/0/server"), json!(1), "trial: counted is 1");
    check(&at("/commands/lines"), json!([]), "commands.lines has 0 entries");
    let slice = serde_json::to_value(Slice {
        active_ns: 1 << 52,
        latency_sum_ns: 1 << 52,
        completions: 1 << 52,
        requests: 1 << 52,
        ..Slice::default()
    });
    let slices = vec![slice.unwrap(); 8];
    check(&at("/raw/epochs/0/slices"), json!(slices), "add up to");
}

#[test]
fn r44_a_small_file_cannot_make_its_reader_unpack_much() {
    let pointer = "/comparisons/0/raw/epochs/0/samples/0/count";
    check(pointer, json!(1_u64 << 28), "the comparisons have 268435456 latencies");
}

#[test]
fn r44_a_level_that_is_no_probability_is_refused_by_its_name() {
    for wrong in ["2", "-1", "0", "1e300", "4611686018427387904"] {
        let words = format!("it is {wrong}; a probability has to be between 0 and 1");
        let number = serde_json::from_str(wrong).unwrap();
        check("/comparisons/0/tax/0/alpha", number, &words.replace("4611686018427387904", "4.611686018427388e18"));
    }
}
