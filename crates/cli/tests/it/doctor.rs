//! `doctor` on the echo server: the result matches its schema, and the text and the exit code agree with it.

use std::fs;

use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::exe;
use crate::record::check_fits;

#[test]
fn text_json_and_exit_code_say_the_same() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch)
        .args(["doctor", "--fixed", "6", "--tests", "aa,slices"])
        .args(["--json=r.json"])
        .run();
    let text = fs::read_to_string(scratch.work().join("r.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    check_fits("doctor", &result);
    let checks = result["checks"].as_array().unwrap();
    let names: Vec<&str> = checks.iter().filter_map(|it| it["check"].as_str()).collect();
    assert_eq!(names, ["aa", "aa", "slices"]);
    // The result depends on the machine, but exit code, text and record have to agree on every machine.
    let (code, words) = match result["answer"].as_str().unwrap() {
        "failed" => (1, "gives verdicts that cannot be trusted"),
        "unanswered" => (3, "No check gave an answer"),
        "busy" => (3, "the tests gave no answer"),
        "some-open" => (0, "some gave no answer"),
        "no-gross-error" => (0, "No check failed."),
        other => run.fail(&format!("`{other}` of a single run")),
    };
    run.expect_code(code);
    let shown = run.words();
    assert!(shown.contains(words), "{words} in {shown}");
    scratch.check_nothing_left();
}
