//! `looptax watch`: what it counts on real servers, and what it prints if it may not count.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use serde_json::Value;

use crate::fixture::{Server, exe, is_root};
use crate::record::check_fits;

const NOBODY: u32 = 65_534;

/// A `looptax watch` that prints a snapshot each second.
struct Watching {
    child: Child,
    looks: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Watching {
    /// Starts `looptax watch`; prints a message and returns `None` if the kernel does not let us count.
    fn start() -> Option<Self> {
        if !is_root() {
            skip("eyes: tests run without root");
            return None;
        }
        let mut command = Command::new(exe());
        command.args(["watch", "--json", "--every", "1s"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut looks = BufReader::new(child.stdout.take().unwrap()).lines();
        if looks.next().is_none() {
            assert_eq!(child.wait().unwrap().code(), Some(2));
            skip("eyes: the kernel does not let us count");
            return None;
        }
        Some(Self { child, looks })
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.looks.next().unwrap().unwrap()).unwrap()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends requests until `is_over`. A client without a password gets answers too.
fn ask(mut stream: impl Read + Write, is_over: &AtomicBool) {
    let mut answer = [0; 200];
    while !is_over.load(Ordering::Relaxed) {
        stream.write_all(b"PING\r\n").unwrap();
        assert!(stream.read(&mut answer).unwrap() > 0);
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_server_s_clients_are_named_with_what_they_ask_over_each_way() {
    let Some(server) = Server::start(Kind::Redis) else { return };
    let Some(mut watching) = Watching::start() else { return };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| ask(TcpStream::connect(server.it.tcp).unwrap(), &is_over));
        scope.spawn(|| ask(UnixStream::connect(server.socket()).unwrap(), &is_over));
        let hops = (0..30).find_map(|_| {
            let look = watching.next();
            check_fits("stream", &look);
            assert_eq!((&look["type"], &look["version"]), (&"watched".into(), &1.into()));
            let hops = look["hops"].as_array().unwrap();
            let of = |way: &str| {
                let is_it = |hop: &&Value| {
                    hop["client"]["pid"] == std::process::id()
                        && hop["server"]["pid"] == server.it.pid
                        && hop["way"] == way
                };
                hops.iter().find(is_it).cloned()
            };
            Some([of("loopback")?, of("unix")?])
        });
        is_over.store(true, Ordering::Relaxed);
        let [tcp, unix] = hops.expect("both are seen");
        assert_eq!((&tcp["address"], &unix["address"]), (&server.it.tcp.to_string().into(), &server.socket().into()));
        for hop in [&tcp, &unix] {
            assert_eq!(hop["kind"], "redis", "{hop:#}");
            let us = |what: &str, of: &str| hop[what][of].as_f64().unwrap();
            assert!(us("times", "p50_us") > us("served", "p50_us"), "{hop:#}");
            assert!(us("times", "p99_us") >= us("times", "p50_us"), "{hop:#}");
            let bytes = hop["n_bytes_asked"].as_u64().unwrap();
            assert_eq!(bytes, 6 * hop["n_requests"].as_u64().unwrap(), "{hop:#}");
            assert_eq!(hop["server_cpu"], tcp["server_cpu"], "{hop:#}");
            assert!(us("server_cpu", "us_per_request") > 0.5, "{hop:#}");
        }
    });
}

#[test]
fn nothing_stays_in_the_kernel_when_it_is_killed() {
    let Some(mut watching) = Watching::start() else { return };
    let pid = watching.child.id();
    let programs = || -> Vec<String> {
        let folder = format!("/proc/{pid}/fdinfo");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let texts = files.filter_map(|it| std::fs::read_to_string(it.path()).ok());
        let ids =
            texts.filter_map(|text| Some(text.lines().find_map(|it| it.strip_prefix("prog_id:"))?.trim().to_owned()));
        ids.collect()
    };
    watching.next();
    let ids = programs();
    assert!(ids.len() >= 3, "{ids:?}");
    watching.child.kill().unwrap();
    watching.child.wait().unwrap();
    // The kernel frees the programs a moment later.
    let is_gone = |id: &String| !aya::programs::loaded_programs().flatten().any(|it| it.id().to_string() == *id);
    patience::wait_for("programs are gone", Duration::from_secs(10), || ids.iter().all(is_gone).then_some(()));
}

#[test]
fn without_the_right_it_says_what_is_missing_and_what_there_is() {
    if !is_root() {
        return skip("eyes: tests run without root");
    }
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["watch", "--once", "--for", "1s"]).uid(NOBODY).run();
    run.expect_code(2);
    assert!(
        run.stderr.contains("only root, or a process with CAP_BPF and CAP_PERFMON, may count requests on sockets"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("looptax find"), "{}", run.stderr);
}

/// In a separate process namespace `watch` printed that there was no request, although there were thousands a second.
#[test]
fn r50_with_process_numbers_of_its_own_it_says_that_it_cannot_count() {
    if !is_root() {
        return skip("eyes: tests run without root");
    }
    let mut command = Command::new("unshare");
    command.args(["--pid", "--mount", "--fork", "--mount-proc"]).arg(exe()).args(["watch", "--once", "--for", "1s"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("process namespace") && words.contains("looptax find"), "{words}");
}

#[test]
fn json_into_a_file_needs_one_look() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["watch", "--json=f.json"]).run();
    run.expect_code(2);
    assert!(run.stderr.contains("--json=FILE needs --once"), "{}", run.stderr);
    assert!(!scratch.work().join("f.json").exists());
}

#[test]
fn the_same_client_before_and_after_a_move_is_held_against_itself() {
    let Some(server) = Server::start(Kind::Redis) else { return };
    // Checks whether the kernel lets us count.
    let Some(watching) = Watching::start() else { return };
    drop(watching);
    let scratch = Scratch::new();
    let run = |args: &[&str]| Looptax::new(exe(), &scratch).args(args.iter().copied()).run();
    let saved = |name: &str, to: &(dyn Fn(&AtomicBool) + Sync)| {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| to(&is_over));
            let saved = run(&["watch", "--save", name, "--for", "6s"]);
            is_over.store(true, Ordering::Relaxed);
            saved.expect_code(0);
            assert!(saved.stderr.contains(&format!("kept: {name}")), "{}", saved.stderr);
        });
    };
    saved("before", &|is_over| ask(TcpStream::connect(server.it.tcp).unwrap(), is_over));
    saved("after.json", &|is_over| ask(UnixStream::connect(server.socket()).unwrap(), is_over));
    let found = run(&["diff", "before", "after.json", "--json"]);
    found.expect_code(0);
    let diff: Value = serde_json::from_str(&found.stdout).unwrap();
    check_fits("watched-diff", &diff);
    let after = fs::read(scratch.work().join("after.json")).unwrap();
    check_fits("watched", &serde_json::from_slice(&after).unwrap());
    let is_it = |hop: &&Value| hop["client"]["pid"] == std::process::id() && hop["server"]["pid"] == server.it.pid;
    let hop = diff["hops"].as_array().unwrap().iter().find(is_it).unwrap();
    assert_eq!((&hop["before"]["way"], &hop["after"]["way"]), (&"loopback".into(), &"unix".into()), "{hop:#}");
    for side in ["before", "after"] {
        assert!(hop[side]["n_requests"].as_u64().unwrap() > 10, "{hop:#}");
    }
    // On a machine as busy as during the tests, the times may be too uneven for a comparison.
    assert!(hop["mean_pct"]["value"].is_number() || hop["mean_pct"]["na"].is_string(), "{hop:#}");
    let text = run(&["diff", "before", "after.json"]);
    assert!(text.stdout.contains("one after the other"), "{}", text.stdout);
    let none = run(&["diff", "before", "nothing"]);
    none.expect_code(2);
    assert!(none.stderr.contains("nothing"), "{}", none.stderr);
    let short = run(&["watch", "--save", "short", "--for", "2s"]);
    short.expect_code(2);
    run(&["watch", "--save", "no name"]).expect_code(2);
}
