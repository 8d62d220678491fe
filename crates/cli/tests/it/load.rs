//! Load models on real servers: rates, pauses, sweeps, and stops of the server that must not be hidden.

use std::process::Command;
use std::thread;
use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{Server, check_refused, compare, is_installed, saved};

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// Each request of an open loop is due at its own time, so the percentiles show that the server stopped. A closed loop
/// would have sent only one request per connection during each stop.
#[test]
fn a_server_that_stands_still_is_seen_in_p99() {
    const STOPPED: Duration = Duration::from_millis(200);
    // The pauses are uneven: a stop makes its slice longer, so with even pauses each stop would come at the end of a
    // slice.
    const PAUSES_MS: [u64; 5] = [510, 830, 640, 1_170, 930];
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let pid = server.it.pid.to_string();
    let signal = |name: &str| {
        let status = Command::new("kill").args([name, &pid]).status();
        assert!(status.unwrap().success(), "{name}");
    };
    let run = thread::scope(|scope| {
        let run = scope.spawn(|| {
            compare(&scratch)
                .args([server.url(), "--yes".to_owned(), "--own-server".to_owned()])
                .args(["--rate", "2000", "-c", "4", "--fixed", "6", "-q"])
                .args(["--slice-ms", "400", "--warm-up", "0s"])
                .run()
        });
        for pause in PAUSES_MS.into_iter().cycle() {
            if run.is_finished() {
                break;
            }
            thread::sleep(Duration::from_millis(pause));
            signal("-STOP");
            thread::sleep(STOPPED);
            signal("-CONT");
        }
        run.join().unwrap()
    });
    // After this many stops looptax may report that the rate was not sustained; the figures are in the record anyway.
    assert!([Some(0), Some(3)].contains(&run.status.code()), "{}", run.stderr);
    let comparison = &saved(&scratch)["comparisons"][0];
    assert_eq!(comparison["load"]["rate_per_s"], 2_000.0);
    for arm in comparison["arms"].as_array().unwrap() {
        // The server was stopped for a sixth of the time, so the slowest percent of the requests waited for a large
        // part of a stop. In a closed loop only four of several thousand requests would have waited.
        let p99_us = number(&arm["latency_pooled_us"]["p99"]["value"]);
        assert!(p99_us > 40_000.0, "p99 {p99_us} µs");
    }
}

#[test]
fn a_rate_is_kept_and_judged_by_its_response_times() {
    if !is_installed(Kind::Redis) {
        return;
    }
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args(["private:redis", "--rate", "1%,2k", "-c", "4"])
        .args(["--fixed", "6", "-q", "--rows", "100", "--warm-up", "0s"])
        .args(["--placement", "same", "--slice-ms", "40"])
        .run();
    assert!([Some(0), Some(3)].contains(&run.status.code()), "{}", run.stderr);
    let record = saved(&scratch);
    let comparisons = record["comparisons"].as_array().unwrap();
    let [share, fixed] = &comparisons[..] else {
        panic!("{} comparisons", comparisons.len());
    };
    let load = &share["load"];
    let wanted = number(&load["capacity_per_s"]) * number(&load["share_pct"]) / 100.0;
    assert!((number(&load["rate_per_s"]) - wanted).abs() < 1e-6 * wanted);
    for comparison in [share, fixed] {
        let rate = number(&comparison["load"]["rate_per_s"]);
        let slices = comparison["raw"]["epochs"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|epoch| epoch["slices"].as_array().unwrap());
        let (mut due, mut seconds) = (0.0, 0.0);
        for slice in slices {
            let completions = number(&slice["completions"]);
            due += completions + slice["unsent"].as_f64().unwrap_or(0.0);
            seconds += number(&slice["active_ns"]) / 1e9;
            // At a hundredth of what a slow machine can do, some slices have no answer.
            let has_median = slice["median_ns"].as_f64().is_some_and(|it| it > 0.0);
            assert!(has_median || completions == 0.0);
        }
        // The gaps follow a Poisson process: accept six standard deviations around the expected number of requests.
        let expected = rate * seconds;
        assert!((due - expected).abs() < 6.0 * expected.sqrt(), "{due}");
    }
}

#[test]
fn a_rate_beyond_the_server_is_not_sustained() {
    if !is_installed(Kind::Redis) {
        return;
    }
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args(["private:redis", "--rate", "500k", "-c", "2", "--fixed", "6", "--warm-up", "0s"])
        .args(["-q", "--rows", "100", "--placement", "same"])
        .args(["--slice-ms", "40"])
        .run();
    run.expect_code(3);
    assert!(run.stdout.contains("did not sustain the rate"), "{}", run.stdout);
}

#[test]
fn pauses_lower_the_rate_and_stay_out_of_the_latency() {
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args([
            "echo",
            "--think",
            "2ms",
            "--placement",
            "same",
            "--slice-ms",
            "40",
            "-c",
            "2",
            "--fixed",
            "6",
            "-q",
            "--warm-up",
            "0s",
        ])
        .run();
    run.expect_code(0);
    let comparison = &saved(&scratch)["comparisons"][0];
    assert_eq!(comparison["load"]["think_us"], 2_000.0);
    for arm in comparison["arms"].as_array().unwrap() {
        // 2 connections with pauses of 2 ms each. The first of the about 20 requests in a slice has no pause before it.
        assert!(number(&arm["throughput_per_s"]["value"]) < 1_100.0);
        assert!(number(&arm["latency_us"]["p50"]["value"]) < 2_000.0);
    }
}

#[test]
fn a_sweep_has_a_row_for_each_power_of_two_and_both_models_at_64() {
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args(["echo", "--placement", "same", "--sweep", "16..64", "--fixed", "6", "-q", "--warm-up", "0s"])
        .args(["--slice-ms", "10"])
        .run();
    run.expect_code(0);
    let record = saved(&scratch);
    let rows: Vec<(u64, &str)> = record["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["connections"].as_u64().unwrap(), it["client"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [(16, "event"), (32, "event"), (64, "event"), (64, "poll")]);
}

#[test]
fn loads_that_mean_nothing_are_refused() {
    check_refused(&["echo", "--rate", "0"], &["`--rate 0` is not a rate", "50k"]);
    check_refused(&["echo", "--rate", "120%"], &["is not a rate"]);
    check_refused(&["echo", "--think", "5"], &["is not a pause", "5ms"]);
    check_refused(&["echo", "--think", "5ms", "--rate", "10"], &["--think is for a closed loop"]);
    check_refused(&["echo", "--rate", "10", "--client", "poll"], &["--rate does not work with", "--client event"]);
    check_refused(&["echo", "--think", "5ms", "--client", "event"], &["needs a thread for each connection"]);
    for wrong in ["8", "16,1"] {
        check_refused(&["echo", "--sweep", wrong], &["neither a range nor a list of connections", "1,16,256"]);
    }
}

#[track_caller]
fn check_planned(warm_up: &[&str], words: &str) {
    let scratch = Scratch::new();
    let run =
        compare(&scratch).args(["echo", "-c", "1", "--fixed", "6", "--dry-run"]).args(warm_up.iter().copied()).run();
    run.expect_code(0);
    assert!(run.stdout.contains(words), "{}", run.stdout);
}

#[test]
fn a_warm_up_without_a_length_is_planned_as_the_epochs_that_it_is() {
    check_planned(&[], "and 10 s of warm-up at most\n");
    check_planned(&["--warm-up", "5s"], "and 5 s of warm-up at most\n");
    check_planned(&["--warm-up", "0s"], " at most, after 2 epochs of warm-up\n");
}
