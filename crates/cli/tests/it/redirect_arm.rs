//! `--arms redirect`: measures what `looptax run` does, in comparison with the socket and TCP.

use std::fs;
use std::path::Path;
use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Looptax, Running, send};
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{SHORT, Server, check_refused, compare, exe, is_installed, saved};

/// The name that the supervisor gives to its process.
const SUPERVISOR: &str = "looptax-beside";

/// Checks the arms of the first comparison in a record: their names, that all are proved, and that each arm except tcp
/// uses the socket according to the kernel and to the server.
#[track_caller]
fn check_proved(record: &Value, expected: &[&str]) {
    let arms = record["comparisons"][0]["arms"].as_array().unwrap();
    let names: Vec<_> = arms.iter().map(|arm| arm["name"].as_str().unwrap()).collect();
    assert_eq!(names, expected);
    for arm in arms {
        assert_eq!(arm["verified"], true, "{arm}");
        let proof = &arm["proof"];
        let view = proof["server_view"].as_str().unwrap();
        let is_on_socket = view.starts_with("local socket");
        let is_meant = arm["name"] != "tcp";
        assert_eq!(is_on_socket, is_meant, "{arm}");
        assert_eq!(proof["family"] == "AF_UNIX", is_meant, "{arm}");
        // The connection is opened as TCP, and its other end belongs to the server's process.
        let endpoint = arm["endpoint"].as_str().unwrap();
        assert_eq!(endpoint.starts_with("127.0.0.1:"), arm["name"] != "unix");
        assert_eq!(proof["peer_pid"].is_number(), is_meant, "{arm}");
    }
}

#[track_caller]
fn check(kind: Kind, options: &[&str]) {
    if !is_installed(kind) {
        return;
    }
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args([format!("private:{kind}").as_str(), "--placement", "same"])
        .args(["--arms", "unix,tcp,redirect"])
        .args(SHORT)
        .args(options)
        .run();
    run.expect_code(0);
    check_proved(&saved(&scratch), &["unix", "tcp", "redirect"]);
    assert!(run.stdout.contains("redirect vs unix"), "{}", run.stdout);
    scratch.check_nothing_left();
}

#[test]
fn redis_sees_the_socket() {
    check(Kind::Redis, &[]);
}

#[test]
fn mariadb_sees_the_socket() {
    check(Kind::Mariadb, &["-c", "4"]);
}

#[test]
fn mysql_sees_the_socket() {
    check(Kind::Mysql, &["-c", "4"]);
    check(Kind::Mysql, &["--workload", "connect"]);
}

#[test]
fn valkey_sees_the_socket() {
    check(Kind::Valkey, &[]);
}

#[test]
fn postgres_sees_the_socket_of_an_event_client() {
    check(Kind::Postgres, &["-c", "4", "--client", "event"]);
}

#[test]
fn each_memcached_gets_the_socket_of_its_own_place() {
    check(Kind::Memcached, &[]);
}

#[test]
fn whole_connections_are_moved_one_by_one() {
    check(Kind::Redis, &["--workload", "connect", "-c", "2"]);
    check(Kind::Postgres, &["--reconnect-every", "3"]);
}

#[test]
fn echo_has_the_arm_and_it_can_be_the_baseline() {
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args(["echo", "--placement", "same", "--workload", "connect"])
        .args(["--arms", "unix,tcp,redirect", "--baseline", "redirect"])
        .args(SHORT)
        .run();
    run.expect_code(0);
    for words in ["unix vs redirect", "tcp vs redirect"] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    scratch.check_nothing_left();
}

#[test]
fn a_running_server_is_measured_on_its_own_socket() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let run = server.compare(&scratch);
    run.args(["--arms", "tcp,redirect"]).run().expect_code(0);
    let record = saved(&scratch);
    check_proved(&record, &["tcp", "redirect"]);
    let proof = &record["comparisons"][0]["arms"][1]["proof"];
    assert_eq!(proof["peer_pid"], server.it.pid);
}

/// Starts a run of tcp and redirect that goes on until it is ended.
fn until_ended(compare: Looptax<'_>) -> Running<'_> {
    compare.args(["--arms", "tcp,redirect", "--fixed", "10000"]).args(["--slice-ms", "10"]).on_terminal().spawn()
}

fn endless<'a>(scratch: &'a Scratch, server: &Server, workload: &str) -> Running<'a> {
    let run = compare(scratch).args([server.url(), "--yes".to_owned(), "--own-server".to_owned()]).args([
        "--workload",
        workload,
        "-c",
        "1",
    ]);
    until_ended(run)
}

/// Starts a run of tcp and redirect on the echo server that goes on until it is ended.
fn endless_echo<'a>(scratch: &'a Scratch, options: &[&str]) -> Running<'a> {
    let run = compare(scratch).args(["echo", "--placement", "same"]);
    until_ended(run.args(options))
}

#[track_caller]
fn without_socket(workload: &str) {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let mut run = endless(&scratch, &server, workload);
    run.wait_for_stderr(" of at most 10000");
    fs::remove_file(&server.it.socket).unwrap();
    let ended = run.wait();
    let words = ["stayed on TCP: there is no socket at that path", "looptax run --dry-run"];
    ended.expect_error(3, &words);
    let tax = &saved(&scratch)["comparisons"][0]["tax"][0];
    assert_eq!(tax["verdict"], "invalid", "{tax}");
    scratch.check_nothing_left();
}

#[test]
fn a_socket_that_is_taken_away_makes_the_arm_invalid() {
    without_socket("ping");
}

#[test]
fn visits_that_stay_on_tcp_make_the_arm_invalid() {
    without_socket("connect");
}

#[test]
fn a_supervisor_that_dies_ends_the_run() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let mut run = endless(&scratch, &server, "connect");
    run.wait_for_stderr(" of at most 10000");
    let supervisor = scratch.processes_of(SUPERVISOR);
    assert_eq!(supervisor.len(), 1, "{supervisor:?}");
    send(supervisor[0], Signal::KILL);
    run.wait().expect_error(3, &[SUPERVISOR]);
    scratch.check_nothing_left();
}

#[test]
fn kill_9_takes_the_supervisor_along() {
    let scratch = Scratch::new();
    let mut run = endless_echo(&scratch, &["-c", "1"]);
    run.wait_for_stderr(" of at most 10000");
    assert_eq!(scratch.processes_of(SUPERVISOR).len(), 1);
    run.signal(Signal::KILL);
    assert_eq!(run.wait().status.code(), None);
    scratch.check_nothing_left_after(Duration::from_secs(10));
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let mut run = endless(&scratch, &server, "connect");
    run.wait_for_stderr(" of at most 10000");
    run.signal(Signal::INT);
    run.wait().expect_code(130);
    check_proved(&saved(&scratch), &["tcp", "redirect"]);
    scratch.check_nothing_left();
}

/// Returns the name of a thread and its number of seccomp filters. A new thread gets both from the thread that starts
/// it.
fn filters(task: &Path) -> Option<(String, u32)> {
    let status = fs::read_to_string(task.join("status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(|it| it.trim().to_owned())
    };
    Some((field("Name:")?, field("Seccomp_filters:")?.parse().ok()?))
}

#[test]
fn only_the_arms_own_threads_are_filtered() {
    let scratch = Scratch::new();
    let mut run = endless_echo(&scratch, &["-c", "2", "--workload", "connect"]);
    let (_, before) = filters(Path::new("/proc/self")).unwrap();
    let tasks = format!("/proc/{}/task", run.pid());
    // The redirect arm has three threads: one that starts the others, and two clients. The clients end and start again
    // between epochs.
    let threads = run.wait_for("two clients of each arm", || {
        let tasks = fs::read_dir(&tasks).ok()?;
        let tasks = tasks.filter_map(|task| filters(&task.ok()?.path()));
        let (own, others): (Vec<_>, Vec<_>) = tasks.partition(|(name, _)| name == "redirect");
        // The other four threads: the process's first thread, the thread for signals, and two clients.
        (own.len() == 3 && others.len() == 4).then_some([own, others])
    });
    run.signal(Signal::INT);
    run.wait();
    let [own, others] = threads;
    assert!(own.iter().all(|(_, n)| *n == before + 1), "{own:?}");
    assert!(others.iter().all(|(_, n)| *n == before), "{others:?}");
}

#[test]
fn where_it_is_forbidden_nothing_is_measured() {
    let scratch = Scratch::new();
    // A program under a supervisor cannot have a second supervisor.
    let run = Looptax::new(exe(), &scratch)
        .args(["run", "-q", "--map", "127.0.0.1:1=/nobody"])
        .args(["--".as_ref(), exe()])
        .args(["compare", "echo", "--arms", "unix,redirect", "-o", "r.json"])
        .args(SHORT)
        .run();
    let words = ["cannot move connections on this machine", "leave redirect out of --arms"];
    run.expect_error(2, &words);
    assert!(!scratch.file("r.json").exists());
    scratch.check_nothing_left();
}

#[test]
fn whole_commands_are_sent_to_run() {
    let line = "redis-benchmark -n 1000 {transport}";
    let arms = ["--arms", "unix,redirect", "--exec", line];
    check_refused(&[&["private:redis"], &arms[..]].concat(), &["looptax run"]);
}
