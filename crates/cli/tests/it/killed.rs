//! The server ends at each stage of a run: there is no verdict, the error names the stage, and nothing is left behind.
//!
//! A scripted server ends at a fixed point; a real server is killed while it is measured.

use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::fake_redis::{FakeRedis, Script};
use looptax_testkit::runner::send;
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;

use crate::fixture::{SHORT, compare, is_installed};

const PRIMING: u64 = 20;

#[track_caller]
fn check(script: Script, slice_ms: &str, code: i32, words: &[&str]) {
    let (scratch, others) = (Scratch::new(), Scratch::new());
    let fake = FakeRedis::start(&others.work(), script);
    let url = format!("redis://{}", fake.tcp);
    let socket = fake.socket.to_str().unwrap();
    let args = [&url, "--socket", socket, "--yes", "-c", "1", "--fixed", "6"];
    let run = compare(&scratch).args(args).args(["-q", "--slice-ms", slice_ms]).run();
    run.expect_error(code, words);
    assert!(!scratch.file("r.json").exists(), "a record of nothing");
    scratch.check_nothing_left();
}

#[test]
fn a_server_that_ends_before_connecting_is_told() {
    // The server accepts only the two connections that query it, and no connection of an epoch.
    let script = Script { n_connections: Some(2), ..Script::default() };
    check(script, "10", 2, &["cannot connect both sides", "ss -"]);
}

#[test]
fn a_server_that_ends_in_priming_is_told() {
    let script = Script { closes_at: Some(5), ..Script::default() };
    check(script, "10", 3, &["failed in priming", "closed the connection"]);
}

#[test]
fn a_server_that_ends_in_a_slice_is_told() {
    let script = Script { closes_at: Some(PRIMING + 10), ..Script::default() };
    // These requests are finished long before the slice ends.
    check(script, "5000", 3, &["failed in a slice", "closed the connection"]);
}

#[test]
fn a_server_that_ends_in_the_drain_is_told() {
    // The first request of the first slice gets no answer until long after the end of the slice.
    let script = Script { closes_at: Some(PRIMING + 1), closes_after: Duration::from_millis(500), ..Script::default() };
    check(script, "10", 3, &["failed in the wait for the last answers of a slice", "closed the connection"]);
}

#[track_caller]
fn killed(kind: Kind, program: &str) {
    if !is_installed(kind) {
        return;
    }
    let scratch = Scratch::new();
    let target = format!("private:{kind}");
    let args = [&target, "--placement", "same", "--fixed", "60s"];
    let mut run = compare(&scratch).args(args).args(["-c", "1", "--rows", "100"]).on_terminal().spawn();
    run.wait_for_stderr("1 connection, same");
    run.wait_for_stderr("warm-up, epoch");
    // The first process of PostgreSQL, with the smallest number, has started the other processes.
    let server = scratch.processes_of(program).into_iter().min().unwrap();
    send(server, Signal::KILL);
    // The server may have ended during a request or between two epochs; the tests above cover each stage.
    let run = run.wait();
    run.expect_error(3, &["ended (signal: 9", "the end of its log"]);
    scratch.check_nothing_left();
}

#[test]
fn a_killed_redis_is_told_with_its_log() {
    killed(Kind::Redis, "redis-server");
}

#[test]
fn a_killed_memcached_is_told_with_its_log() {
    // It is enough to kill one of the four processes.
    killed(Kind::Memcached, "memcached");
}

#[test]
fn a_killed_mariadb_is_told_with_its_log() {
    killed(Kind::Mariadb, "mariadbd");
}

#[test]
fn a_killed_mysql_is_told_with_its_log() {
    killed(Kind::Mysql, "mysqld");
}

#[test]
fn a_short_run_against_the_scripted_server_works() {
    // If this run failed, too, the failures in the tests above would prove nothing.
    let (scratch, others) = (Scratch::new(), Scratch::new());
    let fake = FakeRedis::start(&others.work(), Script::default());
    let url = format!("redis://{}", fake.tcp);
    let args = [&url, "--yes", "--socket", fake.socket.to_str().unwrap()];
    let run = compare(&scratch).args(args).args(SHORT).run();
    run.expect_code(0);
    scratch.check_nothing_left();
}
