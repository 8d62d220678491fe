//! `compare --remedies`: each remedy is measured, ranked and described in a sentence. A remedy that does not apply to a
//! server is left out.

use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{SHORT, check_refused, compare, exe, is_installed, saved};

fn remedies(record: &Value) -> &Vec<Value> {
    record["remedies"][0]["remedies"].as_array().unwrap()
}

fn kinds(record: &Value) -> Vec<&str> {
    let mut kinds: Vec<&str> = remedies(record).iter().map(|it| it["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds
}

/// Returns the remedies of placement for which this machine has enough cores.
fn placements() -> &'static [&'static str] {
    match std::thread::available_parallelism().map_or(1, Into::into) {
        1 => &["one-core"],
        _ => &["one-core", "two-cores"],
    }
}

#[test]
fn each_remedy_is_measured_and_told_in_a_sentence() {
    if !is_installed(Kind::Redis) {
        return;
    }
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args(["private:redis", "--remedies", "--arms", "tcp,unix,tls"])
        // Free placement takes a minute, so only the other test measures it.
        .args(["--placement", "client-pinned"])
        .args(SHORT)
        .run();
    run.expect_code(0);
    let record = saved(&scratch);
    assert_eq!(kinds(&record), ["persistent", "pipelining", "tls-off", "unix"]);
    let problems = record["problems"].to_string();
    for part in ["left to the scheduler", "ends on two cores"] {
        let words = format!("{part}: not measured: --placement sets another placement");
        assert!(problems.contains(&words), "{problems}");
    }
    for remedy in remedies(&record) {
        assert!(remedy["gain_pct"]["value"].is_number(), "{remedy}");
        let is_way = ["unix", "tls-off"].contains(&remedy["kind"].as_str().unwrap());
        assert_eq!(remedy["is_paired"], is_way, "{remedy}");
    }
    let words = run.words();
    for expected in [
        "what would help on private:redis over tcp: 1 connection, get, client-pinned",
        "for programs that work differently today",
        "16 requests at once: ",
        "if each request opens a connection today",
    ] {
        assert!(words.contains(expected), "{expected}: {}", run.stdout);
    }
    let again = Looptax::new(exe(), &scratch).args(["show", "r.json", "--json"]).run();
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["remedies"], record["remedies"], "not bit for bit");
    scratch.check_nothing_left();
}

#[test]
fn what_does_not_go_with_a_server_is_left_out() {
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args(["echo", "--remedies", "--arms", "tcp,unix,abstract", "--pipeline", "2"])
        .args(SHORT)
        .run();
    run.expect_code(0);
    let expected = [&["abstract"], placements(), &["unix"]].concat();
    assert_eq!(kinds(&saved(&scratch)), expected);
}

#[test]
fn it_is_asked_of_one_server_and_over_tcp() {
    check_refused(&["--remedies"], &["--remedies needs exactly one server", "hint:"]);
    let two = ["private:redis", "--remedies", "--workload", "get,set"];
    check_refused(&two, &["--remedies works only with one workload", "hint:"]);
    let over_unix = ["echo", "--remedies", "--baseline", "unix"];
    check_refused(&over_unix, &["`unix` is itself a remedy", "to name the transport that programs use today"]);
}
