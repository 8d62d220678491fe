//! `history`, `diff` and `gate`, over runs on the built-in echo server.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::fixture::{SHORT, exe};

fn looptax(scratch: &Scratch, args: &[&str]) -> Finished {
    Looptax::new(exe(), scratch)
        .args(args.iter().copied())
        .run()
}

/// A short run, saved under that name.
fn measure(scratch: &Scratch, name: &str, more: &[&str]) -> Finished {
    let run = Looptax::new(exe(), scratch)
        .args(["compare", "echo", "--placement", "same", "-o", name])
        .args(SHORT)
        .args(more.iter().copied())
        .run();
    run.expect_code(0);
    run
}

fn listed(scratch: &Scratch) -> Vec<Value> {
    let run = looptax(scratch, &["history", "--json"]);
    run.expect_code(0);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn runs_are_remembered_shown_and_forgotten_and_records_stay() {
    let scratch = Scratch::new();
    measure(&scratch, "a.json", &[]);
    measure(&scratch, "b.json", &[]);
    measure(&scratch, "c.json", &["--no-history"]);
    let runs = listed(&scratch);
    assert_eq!(runs.len(), 2, "{runs:#?}");
    assert_eq!(
        runs[0]["path"],
        scratch.work().join("b.json").to_str().unwrap()
    );
    let id = runs[0]["id"].as_str().unwrap();
    let table = looptax(&scratch, &["history"]);
    assert!(table.stdout.contains(id), "{}", table.stdout);
    let shown = looptax(&scratch, &["history", "show", "last"]);
    assert!(shown.stdout.contains("record: "), "{}", shown.stdout);
    looptax(&scratch, &["history", "rm", id]).expect_code(0);
    assert_eq!(listed(&scratch).len(), 1);
    assert!(scratch.work().join("b.json").exists());
    looptax(&scratch, &["history", "show", "nothing"])
        .expect_error(2, &["no run in the history", "looptax history"]);
}

#[test]
fn a_history_that_cannot_be_written_costs_no_record() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch)
        .env("XDG_DATA_HOME", "/dev/null/no")
        .args(["compare", "echo", "--placement", "same", "-o", "a.json"])
        .args(SHORT.iter().copied().filter(|word| *word != "-q"))
        .run();
    run.expect_code(0);
    assert!(run.stderr.contains("not in the history"), "{}", run.stderr);
    assert!(scratch.work().join("a.json").exists());
}

/// A saved record with its first tax made up.
fn with_tax(scratch: &Scratch, name: &str, verdict: &str, figure: Value) {
    with_sized_tax(scratch, name, verdict, figure, Value::Null);
}

/// The same, with what is known of the size.
fn with_sized_tax(scratch: &Scratch, name: &str, verdict: &str, figure: Value, size: Value) {
    let path = scratch.work().join("real.json");
    if !path.exists() {
        measure(scratch, "real.json", &[]);
    }
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let tax = &mut record["comparisons"][0]["tax"][0];
    tax["throughput_pct"] = figure;
    tax["verdict"] = json!(verdict);
    tax["uncertain_size"] = size;
    let text = serde_json::to_vec(&record).unwrap();
    fs::File::create(scratch.work().join(name))
        .and_then(|mut file| std::io::Write::write_all(&mut file, &text))
        .unwrap();
}

fn pct(value: f64, lo: f64, hi: f64) -> Value {
    json!({"value": value, "lo": lo, "hi": hi, "n": 20})
}

#[test]
fn a_gate_says_yes_no_or_that_it_cannot_say() {
    let scratch = Scratch::new();
    with_tax(&scratch, "a.json", "difference", pct(26.0, 25.0, 27.0));
    let gate = |limit: &str| looptax(&scratch, &["gate", "a.json", "--max-tax", limit]);
    gate("24%").expect_code(1);
    gate("27%").expect_code(0);
    let open = gate("26%");
    open.expect_code(3);
    assert!(
        open.stdout
            .contains("tcp loses 26.0 % [25.0, 27.0] of unix's throughput: whether that is within 26 % is not known"),
        "{}",
        open.stdout
    );
    // Of an uncertain size all that is possible counts, not the figure.
    let size = json!({"cause": "disturbed", "lo_pct": 12.0, "hi_pct": 31.0});
    let figure = pct(26.0, 25.0, 27.0);
    with_sized_tax(&scratch, "u.json", "inconclusive", figure, size);
    for (limit, code) in [("11%", 1), ("27%", 3), ("32%", 0)] {
        let found = looptax(&scratch, &["gate", "u.json", "--max-tax", limit]);
        found.expect_code(code);
        let words = "tcp loses something between 12.0 and 31.0 % of unix's throughput";
        assert!(found.stdout.contains(words), "{}", found.stdout);
    }
    with_tax(&scratch, "b.json", "invalid", pct(26.0, 25.0, 27.0));
    looptax(&scratch, &["gate", "b.json", "--max-tax", "50%"]).expect_code(3);
    with_tax(
        &scratch,
        "c.json",
        "inconclusive",
        json!({"na": "one epoch"}),
    );
    looptax(&scratch, &["gate", "c.json", "--max-tax", "50%"]).expect_code(3);
    looptax(
        &scratch,
        &["gate", "a.json", "--max-tax", "9", "--arm", "tls"],
    )
    .expect_error(2, &["no comparison of that arm"]);
}

#[test]
fn two_runs_are_held_against_each_other_and_what_differs_is_listed() {
    let scratch = Scratch::new();
    with_tax(&scratch, "a.json", "difference", pct(26.0, 25.7, 26.3));
    with_tax(&scratch, "b.json", "difference", pct(20.0, 19.6, 20.4));
    let run = looptax(&scratch, &["diff", "a.json", "b.json"]);
    run.expect_code(0);
    let text = &run.stdout;
    assert!(text.contains("-6.0 points [-6.5, -5.5]"), "{text}");
    assert!(text.contains("lower"), "{text}");
    let path = scratch.work().join("b.json");
    let changed =
        fs::read_to_string(&path)
            .unwrap()
            .replacen("\"kernel\":\"", "\"kernel\":\"99 ", 1);
    fs::remove_file(&path).unwrap();
    fs::File::create(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, changed.as_bytes()))
        .unwrap();
    let run = looptax(&scratch, &["diff", "a.json", "b.json"]);
    assert!(run.stdout.contains("kernel: "), "{}", run.stdout);
    let run = looptax(&scratch, &["diff", "a.json", "a.json"]);
    assert!(run.stdout.contains("are the same run"), "{}", run.stdout);
}

#[test]
fn what_has_nothing_in_common_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    measure(&scratch, "a.json", &[]);
    measure(&scratch, "b.json", &["--client", "block"]);
    looptax(&scratch, &["diff", "a.json", "b.json"])
        .expect_error(2, &["nothing in common", "--client poll", "--client block"]);
}

#[test]
fn every_format_is_written_and_one_of_them_may_be_printed() {
    let scratch = Scratch::new();
    let more = [
        "--md",
        "r.md",
        "--csv",
        "-",
        "--openmetrics",
        "r.prom",
        "--benchmark-json",
        "r.bench",
    ];
    let run = measure(&scratch, "a.json", &more);
    assert!(run.stdout.starts_with("run,started_at,"), "{}", run.stdout);
    for (name, words) in [
        ("r.md", "| connections |"),
        ("r.prom", "# EOF"),
        ("r.bench", "time per request"),
    ] {
        let text = fs::read_to_string(scratch.work().join(name)).unwrap();
        assert!(text.contains(words), "{text}");
    }
    looptax(&scratch, &["analyze", "a.json", "--md", "-", "--csv", "-"])
        .expect_error(2, &["--md and --csv both want to be printed"]);
}

#[test]
fn gauges_may_be_read_by_the_node_exporter_whatever_the_umask_is() {
    let scratch = Scratch::new();
    let words = SHORT.join(" ");
    let script = format!(
        "umask 077
         $0 find --once --openmetrics find.prom
         $0 compare echo --placement same {words} --md r.md --openmetrics compare.prom"
    );
    Looptax::new("sh", &scratch)
        .args(["-ec", &script, exe().to_str().unwrap()])
        .run()
        .expect_code(0);
    for (name, expected) in [
        ("find.prom", 0o644),
        ("compare.prom", 0o644),
        ("r.md", 0o600),
    ] {
        let mode = fs::metadata(scratch.file(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, expected, "{name}");
    }
}

#[test]
fn r20_a_run_is_shown_and_found_by_its_label() {
    let scratch = Scratch::new();
    for label in ["before-6.8", "after", "after"] {
        let run = Looptax::new(exe(), &scratch)
            .args(["compare", "echo", "--placement", "same", "--label", label])
            .args(crate::fixture::SHORT)
            .run();
        run.expect_code(0);
    }
    let text = looptax(&scratch, &["history"]).stdout;
    assert_eq!(text.matches("(after)").count(), 2, "{text}");
    assert!(text.contains("(before-6.8)"), "{text}");
    let newest: Value =
        serde_json::from_str(&looptax(&scratch, &["history", "--json"]).stdout).unwrap();
    let run = looptax(&scratch, &["diff", "before-6.8", "after"]);
    run.expect_code(0);
    assert!(
        run.stdout
            .contains(&format!("B: {} (after)", newest[0]["id"].as_str().unwrap())),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("(before-6.8)"), "{}", run.stdout);
    looptax(&scratch, &["analyze", "before-6.8"]).expect_code(0);
    looptax(&scratch, &["compare", "echo", "--label", "two words"]).expect_code(2);
    looptax(&scratch, &["diff", "before-6.9", "after"]).expect_error(2, &["before-6.9"]);
}
