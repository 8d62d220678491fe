//! However looptax ends, its servers and folders go with it, and what was measured stays.

use std::time::Duration;

use looptax_dsn::Kind;
use looptax_testkit::runner::{Looptax, Running};
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{SHORT, compare, exe, is_installed, saved};

/// How long the reaper may take: servers are asked to end before they are made to.
const REAPING: Duration = Duration::from_secs(10);

/// A run on a private server that goes on until it is ended, with progress on a terminal.
fn endless(scratch: &Scratch, kind: Kind) -> Running<'_> {
    compare(scratch)
        .args([&format!("private:{kind}"), "--placement", "same", "-c", "1"])
        .args(["--fixed", "10000", "--slice-ms", "10", "--rows", "100"])
        .on_terminal()
        .spawn()
}

#[test]
fn an_interrupted_run_keeps_what_it_measured_and_leaves_nothing() {
    let scratch = Scratch::new();
    let mut run = endless(&scratch, Kind::Echo);
    run.wait_for_stderr(" of at most 10000");
    run.signal(Signal::INT);
    run.wait().expect_code(130);
    scratch.check_nothing_left();

    let record = saved(&scratch);
    assert_eq!(record["interrupted"], true);
    let comparison = &record["comparisons"][0];
    let n_epochs = comparison["raw"]["epochs"].as_array().unwrap().len();
    assert!(n_epochs >= 1);
    assert_eq!(comparison["tax"][0]["n_epochs"], n_epochs);
    let again = Looptax::new(exe(), &scratch)
        .args(["analyze", "r.json", "--json", "-"])
        .run();
    again.expect_code(0);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["comparisons"][0]["tax"], comparison["tax"]);
}

#[test]
fn two_interrupts_at_once_are_one_wish() {
    // `timeout` signals the process and then its group.
    let scratch = Scratch::new();
    let mut run = endless(&scratch, Kind::Echo);
    run.wait_for_stderr(" of at most 10000");
    run.signal(Signal::INT);
    run.signal(Signal::INT);
    run.wait().expect_code(130);
    scratch.check_nothing_left_after(REAPING);
    assert_eq!(saved(&scratch)["interrupted"], true);
}

#[track_caller]
fn killed(kind: Kind) {
    if !is_installed(kind) {
        return;
    }
    let scratch = Scratch::new();
    let mut run = endless(&scratch, kind);
    run.wait_for_stderr("warm-up, epoch");
    assert!(scratch.processes().len() >= 3, "looptax, reaper, server");
    run.signal(Signal::KILL);
    assert_eq!(run.wait().status.code(), None);
    scratch.check_nothing_left_after(REAPING);
}

#[test]
fn kill_9_takes_redis_along() {
    killed(Kind::Redis);
}

#[test]
fn kill_9_takes_mariadb_along() {
    killed(Kind::Mariadb);
}

#[test]
fn kill_9_takes_mysql_along() {
    killed(Kind::Mysql);
}

#[test]
fn kill_9_takes_valkey_along() {
    killed(Kind::Valkey);
}

#[test]
fn kill_9_takes_all_of_memcached_along() {
    killed(Kind::Memcached);
}

#[test]
fn kill_9_takes_postgres_along() {
    killed(Kind::Postgres);
}

#[test]
fn two_at_once_do_not_collide() {
    if !is_installed(Kind::Redis) {
        return;
    }
    let scratch = Scratch::new();
    let start = |name: &str| {
        Looptax::new(exe(), &scratch)
            .args([
                "compare",
                "private:redis",
                "--placement",
                "same",
                "-o",
                name,
            ])
            .args(SHORT)
            .spawn()
    };
    let both = [start("one.json"), start("two.json")];
    for run in both {
        run.wait().expect_code(0);
    }
    scratch.check_nothing_left();
    assert!(scratch.file("one.json").exists() && scratch.file("two.json").exists());
}

#[test]
fn every_kind_ends_without_a_trace() {
    for kind in [Kind::Redis, Kind::Postgres, Kind::Memcached] {
        if !is_installed(kind) {
            continue;
        }
        let scratch = Scratch::new();
        let target = format!("private:{kind}");
        let run = compare(&scratch)
            .args([&target, "--placement", "same"])
            .args(SHORT)
            .run();
        run.expect_code(0);
        scratch.check_nothing_left();
    }
}
