//! `reproduce`: repeats published comparisons on real servers, with the shortest possible runs.

use std::fs;

use looptax_model::dsn::Kind;
use looptax_model::record::reproduction_schema;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{exe, is_installed};

/// Six epochs of ten-millisecond slices, and the least value of every other amount.
const LEAST: [&str; 10] = ["-q", "--epochs", "6", "--slice-ms", "10", "--scale", "0.00001", "--quick", "-o", "out"];

fn reproduce<'a>(scratch: &'a Scratch, name: &str) -> Looptax<'a> {
    Looptax::new(exe(), scratch).args(["reproduce", name]).args(LEAST)
}

/// Returns the result that a run printed, after checking that it matches its schema and the saved result.
#[track_caller]
fn printed(scratch: &Scratch, run: &Finished) -> Value {
    let result: Value = serde_json::from_str(&run.stdout).unwrap();
    let validator = jsonschema::draft202012::new(&reproduction_schema()).unwrap();
    let problems: Vec<String> = { validator.iter_errors(&result) }.map(|error| error.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
    let saved = fs::read(scratch.file("out/reproduce.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&saved).unwrap(), result);
    result
}

/// Checks the row of a claim: the published value, and that a value was measured.
#[track_caller]
fn check_row(part: &Value, claim: &str, published: f64) {
    let rows = part["rows"].as_array().unwrap();
    let row =
        { rows.iter() }.find(|row| row["claim"] == claim).unwrap_or_else(|| panic!("no row of {claim}: {part:#}"));
    let value = row["published"]["value"].as_f64().unwrap();
    assert!((value - published).abs() < 0.05, "{row:#}");
    assert!(row["verdict"].is_string(), "{row:#}");
    let proof = &row["proof"];
    assert!(proof["requests"].as_u64() > Some(0) || proof["runs"].as_u64() > Some(0), "{row:#}");
    assert!(!row["reasons"].as_array().unwrap().is_empty(), "{row:#}");
}

/// Checks that each step has left a record, with the command line that repeats the step.
#[track_caller]
fn check_steps(scratch: &Scratch, part: &Value) {
    for step in part["steps"].as_array().unwrap() {
        let path = scratch.work().join(step["path"].as_str().unwrap());
        let record: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        assert_eq!(record["id"], step["run"]);
        let command: Vec<String> = serde_json::from_value(record["command"].clone()).unwrap();
        let line = step["command"].as_str().unwrap();
        assert_eq!(shell_words::split(line).unwrap(), command);
        assert_eq!(command[0], "looptax");
        assert!(["compare", "why"].contains(&command[1].as_str()));
    }
}

#[test]
fn moonen_is_measured_beside_what_was_published() {
    let scratch = Scratch::new();
    let run = reproduce(&scratch, "moonen").args(["--json", "--html", "page.html", "--md", "r.md"]).run();
    run.expect_code(0);
    let result = printed(&scratch, &run);
    let part = &result["parts"][0];
    check_row(part, "stream_100GB", 2.81);
    check_row(part, "message_8_bytes_100M", 78.36);
    check_row(part, "message_8_bytes_100M_spread", 19.97);
    check_steps(&scratch, part);
    assert!(part["rows"][0]["proof"]["streamed_bytes"].as_u64() > Some(0));
    assert_eq!(part["trials"].as_array().unwrap().len(), 6);
    // On a busy machine too few epochs may count for the interval of a standard deviation.
    let missing = part["missing"].as_array().unwrap();
    assert!(missing.iter().all(|it| it.as_str().unwrap().ends_with(": no interval")), "{part:#}");
    let page = fs::read_to_string(scratch.file("page.html")).unwrap();
    assert!(page.contains("A performance comparison of AF_UNIX"), "{page}");
    assert!(!page.contains("<script"));
    let markdown = fs::read_to_string(scratch.file("r.md")).unwrap();
    assert!(markdown.contains("| stream: time of 100 GB |"), "{markdown}");
    let history = Looptax::new(exe(), &scratch).args(["show"]).run();
    assert!(history.stdout.contains("-moonen-stream"), "{}", history.stdout);
    scratch.check_nothing_left();
}

#[test]
fn kawin_splits_the_published_port_into_its_parts() {
    if !is_installed(Kind::Redis) || !is_installed(Kind::Mariadb) {
        return;
    }
    let scratch = Scratch::new();
    let run = reproduce(&scratch, "kawin").args(["--json"]).run();
    run.expect_code(0);
    let result = printed(&scratch, &run);
    let part = &result["parts"][0];
    // Without network namespaces the published port is missing, and the result says so.
    if part["missing"].to_string().contains("proxy is not measured") {
        return;
    }
    check_row(part, "redis_read", 3.27);
    check_row(part, "redis_write", 2.86);
    check_row(part, "mariadb_read", 2.82);
    check_row(part, "mariadb_latency", 2.82);
    check_steps(&scratch, part);
    for row in part["rows"].as_array().unwrap() {
        let count = &row["proof"]["server_count"];
        assert!(count["counted"].as_u64() >= count["sent"].as_u64(), "{row:#}");
    }
    let rows = part["rows"].to_string();
    for way in ["loopback TCP", "and the bridge"] {
        assert!(rows.contains(way), "{way}: {rows}");
    }
    scratch.check_nothing_left();
}

#[test]
fn percona_is_measured_beside_what_was_published() {
    if !is_installed(Kind::Mariadb) {
        return;
    }
    let scratch = Scratch::new();
    let run = reproduce(&scratch, "percona").args(["--json"]).run();
    run.expect_code(0);
    let result = printed(&scratch, &run);
    let part = &result["parts"][0];
    check_row(part, "point_select_1_thread", 35.0);
    check_row(part, "point_select_64_threads", 33.0);
    check_row(part, "mysqldump_10M_rows_2GB", 11.0);
    check_row(part, "inject_100k_qps_mean", 54.0);
    check_row(part, "inject_100k_qps_p99", 50.0);
    check_row(part, "inject_200k_qps_mean", 3.7);
    check_row(part, "inject_200k_qps_p99", 12.0);
    check_steps(&scratch, part);
    scratch.check_nothing_left();
}

#[test]
fn dimitri_has_a_point_for_every_number_of_connections() {
    if !is_installed(Kind::Mariadb) {
        return;
    }
    let scratch = Scratch::new();
    let run = reproduce(&scratch, "dimitri").args(["--users", "4", "--json"]).run();
    run.expect_code(0);
    let result = printed(&scratch, &run);
    let part = &result["parts"][0];
    check_row(part, "broadwell_2s_max", 15.25);
    check_row(part, "skylake_2s_max", 5.66);
    check_row(part, "broadwell_4s_max", 6.54);
    check_steps(&scratch, part);
    let points = part["points"].as_array().unwrap();
    let connections: Vec<u64> = { points.iter() }.filter_map(|point| point["connections"].as_u64()).collect();
    assert_eq!(connections, [1, 2, 4]);
    let smaller = part["smaller"].to_string();
    assert!(smaller.contains("stops at 4 connections"), "{smaller}");
    // If the kernel does not allow sampling, the result reports this instead.
    let is_profiled = { points.iter() }.all(|it| it["hottest"][0]["name"].is_string());
    let told = part["missing"].to_string();
    assert!(is_profiled || told.contains("hottest functions"), "{part:#}");
    scratch.check_nothing_left();
}

#[test]
fn what_is_missing_is_told_in_a_line_and_the_rest_is_measured() {
    if !is_installed(Kind::Mariadb) {
        return;
    }
    let scratch = Scratch::new();
    let without_tools = |strict: &[&str]| {
        reproduce(&scratch, "percona").env("PATH", scratch.tmp().into_os_string()).args(strict.iter().copied()).run()
    };
    let run = without_tools(&[]);
    run.expect_code(0);
    let told = "not measured: the dump: neither mysqldump nor mariadb-dump is on PATH";
    assert!(run.stdout.contains(told), "{}", run.stdout);
    assert!(run.stdout.contains("lookups, 1 connection"), "{}", run.stdout);
    without_tools(&["--strict"]).expect_code(2);
    scratch.check_nothing_left();
}

#[test]
fn a_plan_names_every_command_and_a_bound_and_does_nothing() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["reproduce", "all", "--quick", "--dry-run"]).run();
    run.expect_code(0);
    for words in [
        "percona: at most",
        "moonen: at most",
        "kawin: at most",
        "looptax compare private:redis --arms unix,tcp,bridge,proxy -c 50 --workload get,set",
        "of measuring, plus the time to start and fill servers; looptax ends a comparison that exceeds its planned time",
    ] {
        assert!(run.stdout.contains(words), "{}", run.stdout);
    }
    assert_eq!(fs::read_dir(scratch.work()).unwrap().count(), 0);
    scratch.check_nothing_left();
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let scratch = Scratch::new();
    let check = |args: &[&str], words: &str| {
        let run = Looptax::new(exe(), &scratch).args(["reproduce"]).args(args.iter().copied()).run();
        run.expect_code(2);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    };
    check(&["nobody"], "possible values");
    check(&[], "required");
    check(&["moonen", "--scale", "0"], "a share of the published amounts");
    check(&["moonen", "--html", "no/such/page.html"], "the folder does not exist");
    fs::create_dir(scratch.work().join("taken")).unwrap();
    fs::write(scratch.work().join("taken/reproduce.json"), "{}").unwrap();
    check(&["moonen", "-o", "taken"], "already contains a result");
    check(&["moonen", "-o", "/proc/no"], "cannot use the folder");
}
