//! Changes one field of a record to a value at the limits of its meaning, or beyond them.
//!
//! Fields are distinguished by their names from the record down, without the indexes of lists. Each kind of field is
//! changed once before any kind is changed twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::originals::Original;
use crate::coin::Coin;

pub(super) struct Mutant {
    pub(super) original: usize,
    /// A description of the change, for readers.
    pub(super) change: String,
    pub(super) text: String,
}

/// A step from a value to a value inside it.
#[derive(Clone)]
enum Step {
    Key(String),
    Idx(usize),
}

type Path = Vec<Step>;

/// Makes `n` mutants of these records, chosen by the coin.
pub(super) fn mutants(originals: &[Original], n: usize, coin: &mut Coin) -> Vec<Mutant> {
    let mut kinds: BTreeMap<String, Vec<(usize, Path)>> = BTreeMap::new();
    for (idx, original) in originals.iter().enumerate() {
        let mut paths = Vec::new();
        walk(&original.json, &mut Vec::new(), &mut paths);
        for path in paths {
            kinds.entry(kind(&path)).or_default().push((idx, path));
        }
    }
    let mut mutants = Vec::new();
    while mutants.len() < n {
        for places in coin.shuffled(kinds.values()) {
            let (original, path) = &places[(coin.number() % places.len() as u64) as usize];
            let json = &originals[*original].json;
            let old = at(json, path);
            let changes = changes(old);
            let change = &changes[(coin.number() % changes.len() as u64) as usize];
            mutants.push(Mutant {
                original: *original,
                change: format!("{}: {}", shown(path), told(change)),
                text: changed(json, path, change),
            });
            if mutants.len() == n {
                break;
            }
        }
    }
    mutants
}

enum Change {
    To(Value),
    /// JSON text that a [`Value`] cannot hold.
    Raw(&'static str),
    Gone,
}

/// Numbers that may cause errors in code, as JSON text.
const NUMBERS: [&str; 17] = [
    "0",
    "-0.0",
    "-1",
    "1",
    "2",
    "0.5",
    "1e-300",
    "1e300",
    "1e308",
    "-1e308",
    "4294967295",
    "4611686018427387904",
    "9007199254740992",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "281474976710656",
];

fn changes(old: &Value) -> Vec<Change> {
    let mut all = vec![Change::To(Value::Null), Change::Gone];
    match old {
        Value::Null => {
            all.extend(NUMBERS.map(Change::Raw));
            all.extend([json!("x"), json!([]), json!({}), json!(true)].map(Change::To));
        }
        Value::Bool(is) => all.extend([json!(!is), json!(1)].map(Change::To)),
        Value::Number(_) => {
            all.extend(NUMBERS.map(Change::Raw));
            all.push(Change::To(json!("1")));
        }
        Value::String(old) => all.extend(strings(old).map(Change::To)),
        Value::Array(old) => all.extend(arrays(old).into_iter().map(Change::To)),
        Value::Object(_) => all.extend([json!({}), json!([]), json!(1)].map(Change::To)),
    }
    all
}

fn strings(old: &str) -> [Value; 10] {
    [
        json!(""),
        json!("x".repeat(1 << 20)),
        json!("\u{0}\u{7}\u{1b}[31m\u{1b}]8;;http://x\u{7}\r\n\t"),
        json!("<script>alert(1)</script>\"'&</style><!--"),
        json!("../../../../etc/passwd"),
        json!("\u{202e}\u{feff}e\u{301}\u{1f600}"),
        json!(format!("{old}{old}")),
        json!(old.chars().rev().collect::<String>()),
        json!(old.chars().take(1).collect::<String>()),
        json!(7),
    ]
}

fn arrays(old: &[Value]) -> Vec<Value> {
    let mut all = vec![json!([]), json!(1), json!({})];
    let Some(first) = old.first() else {
        return all;
    };
    let without = |idx: usize| {
        let kept = old.iter().enumerate().filter(|(at, _)| *at != idx);
        Value::Array(kept.map(|(_, it)| it.clone()).collect())
    };
    all.push(json!([first]));
    all.push(Value::Array([old, old].concat()));
    all.push(without(0));
    all.push(without(old.len() - 1));
    all.push(Value::Array(old.iter().rev().cloned().collect()));
    all
}

/// Collects the paths of all values in a record, except for the record itself.
fn walk(value: &Value, path: &mut Path, paths: &mut Vec<Path>) {
    if !path.is_empty() {
        paths.push(path.clone());
    }
    let mut within = |step: Step, value: &Value| {
        path.push(step);
        walk(value, path, paths);
        path.pop();
    };
    match value {
        Value::Array(all) => {
            for (idx, value) in all.iter().enumerate() {
                within(Step::Idx(idx), value);
            }
        }
        Value::Object(all) => {
            for (key, value) in all {
                within(Step::Key(key.clone()), value);
            }
        }
        _ => {}
    }
}

fn kind(path: &[Step]) -> String {
    let steps = path.iter().map(|step| match step {
        Step::Key(key) => key.as_str(),
        Step::Idx(_) => "*",
    });
    steps.collect::<Vec<_>>().join(".")
}

fn shown(path: &[Step]) -> String {
    let steps = path.iter().map(|step| match step {
        Step::Key(key) => format!(".{key}"),
        Step::Idx(idx) => format!("[{idx}]"),
    });
    steps.collect::<String>().trim_start_matches('.').to_owned()
}

fn told(change: &Change) -> String {
    match change {
        Change::Gone => "missing".to_owned(),
        Change::Raw(text) => (*text).to_owned(),
        Change::To(value) => {
            let text = value.to_string();
            let begin: String = text.chars().take(60).collect();
            if begin.len() == text.len() { text } else { format!("{begin}… ({} bytes)", text.len()) }
        }
    }
}

fn at<'a>(json: &'a Value, path: &[Step]) -> &'a Value {
    path.iter().fold(json, |value, step| match step {
        Step::Key(key) => &value[key],
        Step::Idx(idx) => &value[idx],
    })
}

/// Placeholder for a number that a [`Value`] cannot hold, until the text is made; no record contains this text.
const MARK: &str = "a number of the lab";

fn changed(json: &Value, path: &[Step], change: &Change) -> String {
    let mut json = json.clone();
    let (last, before) = path.split_last().expect("the record itself is not changed");
    let parent = before.iter().fold(&mut json, |value, step| match step {
        Step::Key(key) => &mut value[key],
        Step::Idx(idx) => &mut value[idx],
    });
    let put = match change {
        Change::Gone => None,
        Change::To(value) => Some(value.clone()),
        Change::Raw(_) => Some(json!(MARK)),
    };
    match (last, parent) {
        (Step::Key(key), Value::Object(all)) => put_into(all, key, put),
        (Step::Idx(idx), Value::Array(all)) => match put {
            Some(value) => all[*idx] = value,
            None => drop(all.remove(*idx)),
        },
        _ => unreachable!("the path was taken from this value"),
    }
    let text = json.to_string();
    match change {
        Change::Raw(number) => text.replacen(&format!("\"{MARK}\""), number, 1),
        _ => text,
    }
}

fn put_into(all: &mut Map<String, Value>, key: &str, put: Option<Value>) {
    match put {
        Some(value) => drop(all.insert(key.to_owned(), value)),
        None => drop(all.remove(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_field_is_changed_and_the_rest_stays() {
        let json = json!({"a": [{"b": 1}, {"b": 2}], "c": "d"});
        let path = [Step::Key("a".to_owned()), Step::Idx(1), Step::Key("b".to_owned())];
        let with = |change: &Change| changed(&json, &path, change);
        assert_eq!(with(&Change::Raw("1e300")), r#"{"a":[{"b":1},{"b":1e300}],"c":"d"}"#);
        assert_eq!(with(&Change::Gone), r#"{"a":[{"b":1},{}],"c":"d"}"#);
        assert_eq!(shown(&path), "a[1].b");
        assert_eq!(kind(&path), "a.*.b");
    }

    #[test]
    fn each_kind_of_field_has_its_turn_before_one_has_two() {
        let originals = super::super::originals::kept().unwrap();
        let mut coin = Coin::new(Some(1)).unwrap();
        let mutants = mutants(&originals, 300, &mut coin);
        let kind = |it: &Mutant| {
            let place = it.change.split(": ").next().unwrap();
            let names = place.split(|c: char| c == '[' || c == ']' || c.is_ascii_digit());
            names.collect::<Vec<_>>().join("")
        };
        let mut kinds: Vec<String> = mutants.iter().map(kind).collect();
        kinds.sort();
        kinds.dedup();
        assert!(kinds.len() > 280, "{}", kinds.len());
    }
}
