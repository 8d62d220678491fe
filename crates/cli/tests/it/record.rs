//! The record of a run: it matches its schema, can be judged again, and can be repeated with its seed.

use std::fs;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{SHORT, compare, exe, is_installed, saved};

/// Returns the stdout of a finished run as JSON.
#[track_caller]
pub(crate) fn json(looptax: Looptax<'_>) -> Value {
    let run = looptax.run();
    run.expect_code(0);
    serde_json::from_str(&run.stdout).unwrap()
}

pub(crate) fn analyze(scratch: &Scratch) -> Value {
    json(Looptax::new(exe(), scratch).args(["show", "r.json", "--json"]))
}

#[track_caller]
pub(crate) fn check_against_schema(record: &Value) {
    check_fits("record", record);
}

/// Compares a result with the schema that the program prints for this form.
#[track_caller]
pub(crate) fn check_fits(form: &str, result: &Value) {
    check_all_fit(form, [result]);
}

/// Compares several results of one form with its schema.
#[track_caller]
pub(crate) fn check_all_fit<'a>(form: &str, results: impl IntoIterator<Item = &'a Value>) {
    let scratch = Scratch::new();
    let schema = json(Looptax::new(exe(), &scratch).args(["internal", "schema", form]));
    let validator = jsonschema::validator_for(&schema).unwrap();
    for result in results {
        let faults: Vec<String> =
            validator.iter_errors(result).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
}

#[track_caller]
fn check_interval(figure: &Value) {
    let number = |name: &str| figure[name].as_f64().unwrap_or(f64::NAN);
    let [lo, value, hi] = ["lo", "value", "hi"].map(number);
    assert!(lo <= value && value <= hi, "{figure}");
}

#[test]
fn the_printed_record_fits_the_schema_has_intervals_and_is_judged_alike() {
    if !is_installed(Kind::Mariadb) {
        return;
    }
    let scratch = Scratch::new();
    let args = ["compare", "private:mariadb", "--arms", "unix,tcp"];
    let record = json(Looptax::new(exe(), &scratch).args(args).args(["--placement", "same", "--json"]).args(SHORT));
    scratch.check_nothing_left();
    check_against_schema(&record);
    let comparison = &record["comparisons"][0];
    let tax = &comparison["tax"][0];
    check_interval(&tax["throughput_pct"]);
    check_interval(&tax["latency_us"]["mean"]);
    check_interval(&tax["cpu_us"]["both"]);
    assert_eq!(comparison["raw"]["epochs"].as_array().unwrap().len(), 6);
    assert_eq!(comparison["arms"][1]["verified"], true);

    fs::write(scratch.file("r.json"), record.to_string()).unwrap();
    let again = &analyze(&scratch)["comparisons"][0]["tax"][0];
    for name in ["verdict", "theta", "throughput_pct", "reason", "cpu_us"] {
        assert_eq!(again[name], tax[name], "{name}");
    }
}

#[test]
fn analysing_the_saved_record_gives_the_same_figures_bit_for_bit() {
    let scratch = Scratch::new();
    let args = ["echo", "--placement", "same"];
    compare(&scratch).args(args).args(SHORT).run().expect_code(0);
    let (first, again) = (saved(&scratch), analyze(&scratch));
    check_against_schema(&first);
    let (first, again) = (&first["comparisons"][0], &again["comparisons"][0]);
    assert!(first["tax"][0]["latency_us"]["p50"]["value"].is_f64());
    for name in ["tax", "arms", "warnings", "stalls"] {
        assert_eq!(first[name], again[name], "{name}");
    }
}

/// Returns the values that the seed decides, for each epoch.
fn schedule(seed: &str) -> Vec<[Value; 3]> {
    let scratch = Scratch::new();
    let args = ["echo", "--placement", "same", "--seed", seed];
    compare(&scratch).args(args).args(SHORT).run().expect_code(0);
    let record = saved(&scratch);
    assert_eq!(record["seed"], format!("{seed:0>16}"), "as it was given");
    let epochs = record["comparisons"][0]["raw"]["epochs"].as_array().unwrap();
    let of_epoch = |epoch: &Value| ["order", "client_cores", "server_cores"].map(|name| epoch[name].clone());
    epochs.iter().map(of_epoch).collect()
}

#[test]
fn the_same_seed_repeats_the_schedule_and_another_does_not() {
    let first = schedule("5eed");
    assert_eq!(first.len(), 6);
    assert_eq!(first, schedule("5eed"));
    // Six coin flips may agree by chance, but with these two seeds the orders and cores together differ.
    assert_ne!(first, schedule("5eee"));
}

#[test]
fn a_real_client_waits_on_each_arm_as_it_does_there() {
    if !is_installed(Kind::Redis) {
        return;
    }
    let scratch = Scratch::new();
    let args = ["compare", "private:redis", "--placement", "same", "-o", "r.json"];
    let run = Looptax::new(exe(), &scratch).args(args).args(["--client-like", "jedis"]).args(SHORT).run();
    run.expect_code(0);
    let heading = "client block over unix, poll over tcp (as Jedis waits)";
    assert!(run.stdout.contains(heading), "{}", run.stdout);
    let record = saved(&scratch);
    check_against_schema(&record);
    let comparison = &record["comparisons"][0];
    assert_eq!(comparison["client"], "block");
    assert_eq!(comparison["client_like"]["name"], "jedis");
    let waits = |arm: usize| comparison["arms"][arm]["syscalls_per_query"]["wait"].as_f64();
    assert_eq!(waits(0), Some(0.0));
    // On a busy machine an answer may arrive before the client waits for it.
    assert!(waits(1).is_some_and(|waits| waits > 0.0));
    scratch.check_nothing_left();
}

#[test]
fn runs_that_start_at_once_keep_each_record() {
    let scratch = Scratch::new();
    let args = ["compare", "echo", "--placement", "same"];
    let one = || Looptax::new(exe(), &scratch).args(args).args(SHORT).run();
    let runs: Vec<Finished> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let history = json(Looptax::new(exe(), &scratch).args(["show", "--json"]));
    assert_eq!(history.as_array().unwrap().len(), 4);
    for run in &runs {
        run.expect_code(0);
        let (_, last) = run.stdout.split_once("record: ").unwrap();
        let id = last.split_whitespace().next().unwrap();
        let again = json(Looptax::new(exe(), &scratch).args(["show", id, "--json"]));
        assert_eq!(again["id"], id);
    }
}

#[test]
fn a_copied_record_is_judged_alone() {
    let scratch = Scratch::new();
    let args = ["echo", "--placement", "same", "--json=copy.json"];
    let run = compare(&scratch).args(args).args(SHORT).run();
    run.expect_code(0);
    let first = analyze(&scratch);
    fs::remove_file(scratch.file("r.json")).unwrap();
    let elsewhere = Scratch::new();
    fs::copy(scratch.file("copy.json"), elsewhere.file("r.json")).unwrap();
    assert_eq!(analyze(&elsewhere), first);
}

#[test]
fn without_a_home_the_record_lies_among_temporary_files() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch)
        .args(["compare", "echo", "--placement", "same"])
        .args(SHORT.into_iter().filter(|word| *word != "-q"))
        .env("HOME", "/proc")
        .run();
    run.expect_code(0);
    assert!(run.stderr.contains("cannot make the folder"), "{}", run.stderr);
    let (_, path) = run.stdout.split_once("record: ").unwrap();
    fs::remove_file(path.trim_end()).unwrap();
    scratch.check_nothing_left();
}

#[test]
fn r20_a_run_that_is_not_remembered_says_so() {
    let scratch = Scratch::new();
    let line = format!(
        "unset HOME XDG_DATA_HOME; exec {} compare echo --placement same -o r.json {}",
        exe().display(),
        SHORT.join(" ").replace("-q", "")
    );
    let run = Looptax::new("/bin/sh", &scratch).args(["-c", &line]).run();
    run.expect_code(0);
    assert!(run.stderr.contains("does not remember"), "{}", run.stderr);
    assert!(scratch.file("r.json").exists());
}
