//! The workloads of the echo server: sizes, streams, and small packets with and without delay.

use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{SHORT, compare, saved};

/// Makes a short run on the echo server; returns its comparison and what it printed.
#[track_caller]
fn run(options: &[&str]) -> (Value, String) {
    let scratch = Scratch::new();
    let run = compare(&scratch).args(["echo"]).args(SHORT).args(options).run();
    run.expect_code(0);
    let record = saved(&scratch);
    scratch.check_nothing_left();
    (record["comparisons"][0].clone(), run.stdout)
}

fn sends_per_request(comparison: &Value) -> f64 {
    comparison["arms"][0]["syscalls_per_query"]["send"].as_f64().unwrap()
}

#[test]
fn messages_have_the_sizes_that_were_asked_for() {
    let options = ["--request-size", "3000", "--reply-size", "64K"];
    let (comparison, printed) = run(&options);
    assert_eq!(comparison["workload"]["request_bytes"], 3000);
    assert_eq!(comparison["workload"]["response_bytes"], 65_536);
    assert!(printed.contains("3000 bytes there, 64 KiB back"), "{printed}");
}

#[test]
fn a_stream_is_told_in_bytes_per_second() {
    let options = ["--workload", "stream", "--stream-bytes", "100000", "--write-size", "30000"];
    let (comparison, printed) = run(&options);
    let stream = &comparison["workload"]["stream"];
    assert_eq!(stream["bytes"], 100_000);
    assert_eq!(stream["write_bytes"], 30_000);
    assert_eq!(comparison["client"], "block");
    // A request is sent as three full writes and one for the rest, or in more parts if a socket is full.
    assert!(sends_per_request(&comparison) >= 4.0, "{comparison}");
    assert!(printed.contains("B/s"), "{printed}");
    assert!(printed.contains("100000 bytes per request, sent in writes of 30000 bytes"), "{printed}");
}

#[test]
fn small_packets_wait_where_that_was_asked_for() {
    let nodelay_of = |comparison: &Value| comparison["arms"][1]["proof"]["nodelay"].clone();
    let (comparison, printed) = run(&["--nodelay", "off"]);
    assert_eq!(nodelay_of(&comparison), false);
    assert!(printed.contains("TCP_NODELAY off"), "{printed}");
    let (comparison, printed) = run(&["--nodelay", "on"]);
    assert_eq!(nodelay_of(&comparison), true);
    assert!(!printed.contains("TCP_NODELAY"), "{printed}");
}

#[test]
fn streams_run_over_many_connections_and_with_few_threads() {
    let options = ["--workload", "stream", "--stream-bytes", "64K", "--client", "event", "-c", "8"];
    let scratch = Scratch::new();
    compare(&scratch)
        .args(["echo", "--fixed", "6", "--slice-ms", "10", "-q"])
        .args(["--warm-up", "0s", "--placement", "same"])
        .args(options)
        .run()
        .expect_code(0);
    scratch.check_nothing_left();
}

#[track_caller]
fn check_refused(options: &[&str], words: &[&str]) {
    let scratch = Scratch::new();
    let run = compare(&scratch).args(options).args(SHORT).run();
    run.expect_error(2, words);
    scratch.check_nothing_left();
}

#[test]
fn what_cannot_be_sent_is_refused() {
    check_refused(&["echo", "--request-size", "7"], &["--request-size 7 is out of bounds", "8 to 1048576"]);
    check_refused(
        &["echo", "--workload", "stream", "--stream-bytes", "5G"],
        &["--stream-bytes 5368709120 is out of bounds"],
    );
    check_refused(
        &["echo", "--workload", "stream", "--reply-size", "64"],
        &["--reply-size does not apply to `stream`"],
    );
    check_refused(&["echo", "--write-size", "64"], &["--write-size does not apply to `ping`"]);
    check_refused(
        &["private:redis", "--nodelay", "off"],
        &["--nodelay does not apply to `get`", "looptax compare echo"],
    );
    check_refused(&["echo", "--workload", "stream", "--pipeline", "2"], &["--pipeline does not apply to `stream`"]);
    check_refused(&["echo", "--request-size", "64K", "--pipeline", "3"], &["is 196608 bytes in one send", "131072"]);
}
