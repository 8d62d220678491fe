//! `show --html`, `show --publish` and `compare --html`: a page of the measurements, and a clear error if there can be
//! no page.

use std::fs;

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::fixture::{SHORT, compare, exe, saved};

fn show<'a>(scratch: &'a Scratch, args: &[&str]) -> Looptax<'a> {
    Looptax::new(exe(), scratch).args(["show"]).args(args)
}

/// Makes a short run on the echo server, with its record in `r.json` and its page in `live.html`.
fn measured() -> Scratch {
    let scratch = Scratch::new();
    let args = ["echo", "--placement", "same", "--html", "live.html"];
    compare(&scratch).args(args).args(SHORT).run().expect_code(0);
    scratch
}

#[track_caller]
fn data(page: &str) -> Value {
    let (_, after) = page.split_once("id=\"data-0\">").unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_holds_what_the_record_and_its_samples_say() {
    let scratch = measured();
    let run = show(&scratch, &["r.json", "--html", "r.html"]).run();
    run.expect_code(0);
    let page = fs::read_to_string(scratch.file("r.html")).unwrap();
    let live = fs::read_to_string(scratch.file("live.html")).unwrap();
    assert_eq!(page, live, "a run's own page is that of its record");
    let (record, data) = (saved(&scratch), data(&page));
    let (measured, drawn) = (&record["comparisons"][0], &data["comparisons"][0]);
    let epochs = measured["raw"]["epochs"].as_array().unwrap();
    assert_eq!(drawn["epochs"][0]["effectPct"].as_array().unwrap().len(), epochs.len());
    assert_eq!(drawn["slices"]["rate"].as_array().unwrap().len(), 8 * epochs.len());
    let percentiles = drawn["percentiles"][1]["points"].as_array().unwrap();
    let median = percentiles.iter().find(|it| it["pct"] == 50.0).unwrap();
    let recorded = &measured["arms"][1]["latency_pooled_us"]["p50"]["value"];
    assert_eq!(&median["v"], recorded);
    let log = data["hdr"].as_str().unwrap();
    let tags = log.lines().filter(|line| line.starts_with("Tag=1-c1-same-"));
    assert_eq!(tags.count(), 2, "{log}");
}

/// Makes the page of a measured record that `change` has changed.
fn page_of_changed(change: impl Fn(&mut Value)) -> Finished {
    let scratch = measured();
    let path = scratch.file("r.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut record);
    fs::write(&path, record.to_string()).unwrap();
    let run = show(&scratch, &["r.json", "--html", "-"]).run();
    run.expect_code(0);
    assert_eq!(data(&run.stdout)["hdr"], "");
    run
}

fn samples_of(record: &mut Value) -> impl Iterator<Item = &mut Value> {
    let epochs = record["comparisons"][0]["raw"]["epochs"].as_array_mut();
    epochs.unwrap().iter_mut().map(|epoch| &mut epoch["samples"])
}

#[test]
fn a_record_without_its_samples_has_a_page_that_says_so() {
    let none = page_of_changed(|record| {
        samples_of(record).for_each(|samples| *samples = json!([null, null]));
    });
    let words = "There is no log of latencies: the latencies of single requests were not recorded.";
    assert!(none.stdout.contains(words));
}

#[test]
fn samples_that_were_changed_are_not_shown_and_the_page_says_so() {
    let run = page_of_changed(|record| {
        let first = samples_of(record).next().unwrap();
        let packed = first[0]["packed"].as_str().unwrap().to_owned();
        first[0]["packed"] = json!(packed.replace(&packed[9..10], "="));
    });
    let words = "latencies in the record cannot be read";
    assert!(run.stdout.contains(words) && run.stderr.contains(words));
}

#[test]
fn a_page_is_not_written_over_its_record() {
    let scratch = measured();
    let before = fs::read(scratch.file("r.json")).unwrap();
    let run = show(&scratch, &["r.json", "--html", "./r.json"]).run();
    run.expect_error(2, &["overwrite the record", "a separate file"]);
    assert_eq!(fs::read(scratch.file("r.json")).unwrap(), before);
}

#[test]
fn files_that_cannot_be_written_are_told_before_anything_is_measured() {
    for (args, words) in [
        (["--html", "r.json"], "--html would overwrite --output"),
        (["--md", "nowhere/x.md"], "the folder does not exist"),
        (["--csv", "."], "it is a folder"),
        (["--json=./r.json", "-q"], "--json would overwrite --output"),
    ] {
        crate::fixture::check_refused(&[&["echo"], &args[..]].concat(), &[words]);
    }
}

#[test]
fn several_records_make_one_page_and_their_tables_one_text() {
    let scratch = measured();
    fs::copy(scratch.file("r.json"), scratch.file("again.json")).unwrap();
    let run = show(&scratch, &["r.json", "again.json", "--html", "r.html"]).run();
    run.expect_code(0);
    assert_eq!(run.stdout, "");
    let page = fs::read_to_string(scratch.file("r.html")).unwrap();
    assert!(page.contains("2 records") && page.contains("id=\"record-1\""));
    let one = show(&scratch, &["r.json"]).run().stdout;
    let both = show(&scratch, &["r.json", "r.json"]).run();
    both.expect_code(0);
    assert_eq!(both.stdout, format!("{one}\n{one}"));
}

#[test]
fn forms_of_one_run_are_not_made_of_several_or_of_none() {
    let scratch = measured();
    for (args, words) in [
        (&["r.json", "r.json", "--json"][..], "one run"),
        (&["r.json", "r.json", "--csv", "-"], "one run"),
        (&["--html", "x.html"], "no run was given"),
        (&["--forget"], "no run was given"),
        (&["--md", "-"], "no run was given"),
    ] {
        show(&scratch, args).run().expect_error(2, &[words]);
    }
    assert!(!scratch.file("x.html").exists());
}

#[test]
fn what_is_no_record_is_one_error() {
    let scratch = Scratch::new();
    fs::write(scratch.file("other.json"), "{}").unwrap();
    let run = show(&scratch, &["other.json"]).run();
    run.expect_error(2, &["`other.json` is not a looptax record"]);
    let run = show(&scratch, &["missing.json"]).run();
    run.expect_error(2, &["cannot read `missing.json`"]);
}

#[test]
fn what_is_published_names_nobody_and_shows_a_change() {
    let scratch = measured();
    let mut record = saved(&scratch);
    record["label"] = json!("s3kr1t");
    record["comparisons"][0]["target"]["name"] = json!("redis://s3kr1t@h0st/");
    fs::write(scratch.file("named.json"), record.to_string()).unwrap();
    let run = show(&scratch, &["named.json", "--publish", "m.json"]).run();
    run.expect_code(0);
    let text = fs::read_to_string(scratch.file("m.json")).unwrap();
    let given: Value = serde_json::from_str(&text).unwrap();
    let schema = crate::record::json(Looptax::new(exe(), &scratch).args(["internal", "schema", "contribution"]));
    jsonschema::validator_for(&schema).unwrap().validate(&given).unwrap();
    let (given_of, measured) = (&given["results"][0], &record["comparisons"][0]);
    assert_eq!(given_of["baseline_per_s"]["n"], measured["arms"][0]["throughput_per_s"]["n"]);
    let is_uncertain = !measured["tax"][0]["uncertain_size"].is_null();
    assert_eq!(!given_of["range_pct"].is_null(), is_uncertain);
    assert_eq!(given_of["tax_pct"]["na"].is_null(), !is_uncertain);
    assert_eq!(given["machine"]["preemption"], record["host"]["preemption"]);
    let file = scratch.file("");
    let folder = file.to_str().unwrap();
    for word in ["s3kr1t", "h0st", folder, "command", "endpoint"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    looptax_fleet::read_contribution(&text).unwrap();
    let changed = text.replace("\"connections\":1", "\"connections\":2");
    let error = looptax_fleet::read_contribution(&changed).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
    // An existing file is not replaced.
    show(&scratch, &["named.json", "--publish", "m.json"]).run().expect_code(2);
}

#[test]
fn what_people_gave_is_as_it_was_written() {
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/results/machines")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "json") {
            continue;
        }
        let read = looptax_fleet::read_contribution(&fs::read_to_string(&path).unwrap());
        assert!(read.is_ok(), "{}: {}", path.display(), read.unwrap_err());
    }
}
