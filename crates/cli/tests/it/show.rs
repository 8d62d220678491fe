//! `show`, `diff` and `gate`, with runs on the built-in echo server.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::fixture::{SHORT, exe};
use crate::record::check_fits;

fn looptax(scratch: &Scratch, args: &[&str]) -> Finished {
    Looptax::new(exe(), scratch).args(args.iter().copied()).run()
}

/// Makes a short run, and saves it under this name.
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
    let run = looptax(scratch, &["show", "--json"]);
    run.expect_code(0);
    let runs: Vec<Value> = serde_json::from_str(&run.stdout).unwrap();
    check_fits("runs", &runs.clone().into());
    runs
}

#[test]
fn runs_are_remembered_shown_and_forgotten_and_records_stay() {
    let scratch = Scratch::new();
    measure(&scratch, "a.json", &[]);
    measure(&scratch, "b.json", &[]);
    measure(&scratch, "c.json", &["--no-history"]);
    let runs = listed(&scratch);
    assert_eq!(runs.len(), 2, "{runs:#?}");
    assert_eq!(runs[0]["path"], scratch.work().join("b.json").to_str().unwrap());
    let id = runs[0]["id"].as_str().unwrap();
    let table = looptax(&scratch, &["show"]);
    assert!(table.stdout.contains(id), "{}", table.stdout);
    let shown = looptax(&scratch, &["show", "last"]);
    assert!(shown.stdout.contains("record: "), "{}", shown.stdout);
    looptax(&scratch, &["show", "--forget", id]).expect_code(0);
    assert_eq!(listed(&scratch).len(), 1);
    assert!(scratch.work().join("b.json").exists());
    looptax(&scratch, &["show", "nothing"]).expect_error(2, &["no run in the history", "looptax show"]);
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

fn read(scratch: &Scratch, name: &str) -> Value {
    serde_json::from_slice(&fs::read(scratch.work().join(name)).unwrap()).unwrap()
}

fn write(scratch: &Scratch, name: &str, record: &Value) {
    let text = serde_json::to_vec(record).unwrap();
    fs::File::create(scratch.work().join(name))
        .and_then(|mut file| std::io::Write::write_all(&mut file, &text))
        .unwrap();
}

/// Saves a judged record with an epoch for each percentage, in which TCP loses this part of the throughput.
pub(crate) fn with_taxes(scratch: &Scratch, name: &str, taxes_pct: &[f64], change: fn(&mut Value)) {
    if !scratch.work().join("real.json").exists() {
        measure(scratch, "real.json", &[]);
    }
    let mut record = read(scratch, "real.json");
    let comparison = &mut record["comparisons"][0];
    let epoch = |tax_pct: &f64| {
        let slice = |letter: char| {
            let is_other = letter == 'o';
            let kept = if is_other { 1.0 - tax_pct / 100.0 } else { 1.0 };
            let n = (1e6 * kept).round() as u64;
            let mut slice = comparison["raw"]["epochs"][0]["slices"][0].clone();
            for (field, number) in [
                ("arm_idx", u64::from(is_other)),
                ("guard_ns", 10_000_000),
                ("active_ns", 50_000_000),
                ("drain_ns", 0),
                ("completions", n),
                ("early", 0),
                ("drained", 0),
                ("requests", n),
                ("errors", 0),
                ("latency_sum_ns", 50_000_000),
            ] {
                slice[field] = json!(number);
            }
            slice
        };
        let mut epoch = comparison["raw"]["epochs"][0].clone();
        let order = "obboboob";
        epoch["order"] = json!(order);
        epoch["slices"] = order.chars().map(slice).collect();
        epoch["cpu_ticks"] = Value::Null;
        epoch["samples"] = json!([null, null]);
        epoch
    };
    let epochs: Vec<Value> = taxes_pct.iter().map(epoch).collect();
    comparison["raw"]["epochs"] = json!(epochs);
    comparison["schedule"]["looks"] = json!([{"epochs": epochs.len(), "alpha": 0.05}]);
    comparison["tax"][0]["look"] = json!(0);
    comparison["tax"][0]["alpha"] = json!(0.05);
    comparison["server_count"] = Value::Null;
    change(comparison);
    write(scratch, "counted.json", &record);
    let made = looptax(scratch, &["show", "counted.json", &format!("--json={name}")]);
    assert!(matches!(made.status.code(), Some(0 | 3)), "{}", made.stderr);
}

pub(crate) const ABOUT_26: [f64; 6] = [25.0, 25.5, 26.0, 26.0, 26.5, 27.0];

#[test]
fn a_gate_says_yes_no_or_that_it_cannot_say() {
    let scratch = Scratch::new();
    with_taxes(&scratch, "a.json", &ABOUT_26, |_| ());
    let gate = |limit: &str| looptax(&scratch, &["gate", "a.json", "--max-tax", limit]);
    gate("24%").expect_code(1);
    gate("27.1%").expect_code(0);
    let open = gate("26%");
    open.expect_code(3);
    assert!(
        open.stdout.contains(
            "tcp loses 26.0 % [25.0, 27.0] of unix's throughput: looptax cannot decide whether the limit of 26 % is \
             exceeded"
        ),
        "{}",
        open.stdout
    );
    // If the size of a loss is uncertain, the whole possible range counts, not the figure.
    let drifted: Vec<f64> = (0..6).map(|n| 12.0 + 0.2 * f64::from(n)).collect();
    let drifted = [&drifted[..], &[30.0, 30.2, 30.4, 30.6, 30.8, 31.0]].concat();
    with_taxes(&scratch, "u.json", &drifted, |_| ());
    for (limit, code) in [("11%", 1), ("27%", 3), ("32%", 0)] {
        let found = looptax(&scratch, &["gate", "u.json", "--max-tax", limit]);
        found.expect_code(code);
        let words = "tcp loses between 12.0 and 31.0 % of unix's throughput";
        assert!(found.stdout.contains(words), "{}", found.stdout);
    }
    with_taxes(&scratch, "b.json", &ABOUT_26, |comparison| {
        comparison["raw"]["epochs"][3]["slices"][2]["errors"] = json!(1);
    });
    looptax(&scratch, &["gate", "b.json", "--max-tax", "50%"]).expect_code(3);
    with_taxes(&scratch, "c.json", &[26.0], |_| ());
    looptax(&scratch, &["gate", "c.json", "--max-tax", "50%"]).expect_code(3);
    looptax(&scratch, &["gate", "a.json", "--max-tax", "9", "--arm", "tls"])
        .expect_error(2, &["no comparison of arm `tls`"]);
}

/// A forged summary passed a gate that the record's own counts do not pass. Every command now uses the counts.
#[test]
fn r44_a_summary_that_the_counts_do_not_give_is_believed_by_nobody() {
    let scratch = Scratch::new();
    measure(&scratch, "real.json", &[]);
    with_taxes(&scratch, "true.json", &ABOUT_26, |_| ());
    let mut forged = read(&scratch, "true.json");
    let tax = &mut forged["comparisons"][0]["tax"][0];
    tax["throughput_pct"] = json!({"value": 5.432_109_87, "lo": 4.432_109_87, "hi": 6.432_109_87, "n": 6});
    tax["theta"] = json!({"value": 0.051, "lo": 0.046, "hi": 0.057, "n": 6});
    write(&scratch, "forged.json", &forged);
    // The history has the run with its own record, which the test has replaced.
    write(&scratch, "real.json", &forged);
    let said = "the record's summary (difference, 5.4 %) does not match its counts (difference, 26.0 %)";
    for (limit, code) in [("20%", 3), ("50%", 3)] {
        let gate = looptax(&scratch, &["gate", "forged.json", "--max-tax", limit]);
        gate.expect_code(code);
        assert!(gate.stderr.contains(said), "{}", gate.stderr);
        assert!(gate.stdout.contains("loses 26.0 %"), "{}", gate.stdout);
    }
    for args in [
        &["show", "forged.json"][..],
        &["show", "last"],
        &["show", "forged.json", "--openmetrics", "-"],
        &["show", "forged.json", "--csv", "-"],
        &["show", "forged.json", "--html", "-"],
        &["diff", "forged.json", "true.json"],
    ] {
        let run = looptax(&scratch, args);
        run.expect_code(0);
        assert!(run.stderr.contains(said), "{args:?}: {}", run.stderr);
        for forged in ["5.4 %", "43210987"] {
            assert!(!run.stdout.contains(forged), "{args:?}: {}", run.stdout);
        }
    }
    let diff = looptax(&scratch, &["diff", "forged.json", "true.json"]);
    assert!(diff.stdout.contains("0.0 points"), "{}", diff.stdout);
}

#[test]
fn two_runs_are_held_against_each_other_and_what_differs_is_listed() {
    let scratch = Scratch::new();
    let about_20 = [19.6, 19.8, 20.0, 20.0, 20.2, 20.4];
    let about_26 = [25.7, 25.8, 26.0, 26.0, 26.2, 26.3];
    with_taxes(&scratch, "a.json", &about_26, |_| ());
    with_taxes(&scratch, "b.json", &about_20, |_| ());
    let run = looptax(&scratch, &["diff", "a.json", "b.json"]);
    run.expect_code(0);
    let text = &run.stdout;
    assert!(text.contains("-6.0 points [-6.5, -5.5]"), "{text}");
    assert!(text.contains("lower"), "{text}");
    let run = looptax(&scratch, &["diff", "a.json", "b.json", "--json"]);
    check_fits("diff", &serde_json::from_str(&run.stdout).unwrap());
    let mut other = read(&scratch, "b.json");
    other["host"]["kernel"] = json!("99");
    write(&scratch, "b.json", &other);
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
        .expect_error(2, &["no common comparison", "--client poll", "--client block"]);
}

/// Checks text in the OpenMetrics format: each sample belongs to a family described before it and is a number, and the
/// end is marked.
#[track_caller]
fn check_openmetrics(text: &str) {
    let lines = text.strip_suffix("# EOF\n").unwrap();
    let mut family = "";
    let mut n_samples = 0;
    for line in lines.lines() {
        match line.strip_prefix("# ").map(|it| it.splitn(3, ' ').collect::<Vec<_>>()).as_deref() {
            Some(["HELP", name, _]) => family = *name,
            Some(["TYPE", name, kind]) => assert!(*name == family && ["gauge", "counter"].contains(kind), "{line}"),
            Some(_) => panic!("{line}"),
            None => {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let (name, labels) = series.split_once('{').unwrap();
                assert!(name.starts_with(family) && labels.ends_with('}'), "{family}: {line}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
                n_samples += 1;
            }
        }
    }
    assert!(n_samples > 0, "{text}");
}

#[test]
fn every_format_is_written_and_one_of_them_may_be_printed() {
    let scratch = Scratch::new();
    let more = ["--md", "r.md", "--csv", "-", "--openmetrics", "r.prom", "--benchmark-json", "r.bench"];
    let run = measure(&scratch, "a.json", &more);
    assert!(run.stdout.starts_with("run,started_at,"), "{}", run.stdout);
    for (name, words) in [("r.md", "| connections |"), ("r.prom", "# EOF"), ("r.bench", "time per request")] {
        let text = fs::read_to_string(scratch.work().join(name)).unwrap();
        assert!(text.contains(words), "{text}");
    }
    let read = |name: &str| fs::read_to_string(scratch.work().join(name)).unwrap();
    check_openmetrics(&read("r.prom"));
    let entries: Vec<Value> = serde_json::from_str(&read("r.bench")).unwrap();
    for entry in &entries {
        assert!(entry["name"].is_string() && entry["unit"].is_string() && entry["value"].is_number(), "{entry}");
    }
    let figures: Vec<Vec<&str>> = run.stdout.lines().map(|line| line.split(',').collect()).collect();
    let unit = figures[0].iter().position(|it| *it == "unit").unwrap();
    for figure in &figures[1..] {
        assert!(
            ["1/s", "us", "1/request", "%"].contains(&figure[unit]) && figure.len() >= figures[0].len(),
            "{figure:?}"
        );
    }
    looptax(&scratch, &["show", "a.json", "--md", "-", "--csv", "-"])
        .expect_error(2, &["--md and --csv cannot both go to standard output"]);
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
    Looptax::new("sh", &scratch).args(["-ec", &script, exe().to_str().unwrap()]).run().expect_code(0);
    for (name, expected) in [("find.prom", 0o644), ("compare.prom", 0o644), ("r.md", 0o600)] {
        let mode = fs::metadata(scratch.file(name)).unwrap().permissions().mode();
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
    let text = looptax(&scratch, &["show"]).stdout;
    assert_eq!(text.matches("(after)").count(), 2, "{text}");
    assert!(text.contains("(before-6.8)"), "{text}");
    let newest: Value = serde_json::from_str(&looptax(&scratch, &["show", "--json"]).stdout).unwrap();
    let run = looptax(&scratch, &["diff", "before-6.8", "after"]);
    run.expect_code(0);
    assert!(run.stdout.contains(&format!("B: {} (after)", newest[0]["id"].as_str().unwrap())), "{}", run.stdout);
    assert!(run.stdout.contains("(before-6.8)"), "{}", run.stdout);
    looptax(&scratch, &["show", "before-6.8"]).expect_code(0);
    looptax(&scratch, &["compare", "echo", "--label", "two words"]).expect_code(2);
    looptax(&scratch, &["diff", "before-6.9", "after"]).expect_error(2, &["before-6.9"]);
}
