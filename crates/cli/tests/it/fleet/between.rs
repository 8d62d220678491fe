//! Problems between a report and its arrival: the collector is unreachable, dies while it receives, or comes back, or
//! the program is killed while it sends. No report may be lost, and none counted twice.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use looptax_fleet::Value;
use looptax_testkit::ports::free_address;
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;

use super::clickhouse::{ClickHouse, url_at};
use super::machine::has_number;
use super::made::Made;
use super::{Engine, ask, command, looptax};

/// Makes a proxy that passes on `most_bytes` bytes to a collector, over all connections together, and then closes all
/// connections.
fn cutting(to: SocketAddr, most_bytes: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let left = Arc::new(AtomicUsize::new(most_bytes));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(to) else {
                continue;
            };
            let (from_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let left = Arc::clone(&left);
            thread::spawn(move || pass_on(&client, &server, &left));
            thread::spawn(move || pass_on(&from_server, &to_client, &AtomicUsize::new(usize::MAX)));
        }
    });
    address
}

fn pass_on(mut from: &TcpStream, mut to: &TcpStream, left: &AtomicUsize) {
    let mut buffer = [0; 4096];
    while let Ok(n_read) = from.read(&mut buffer) {
        let before = left.load(Ordering::SeqCst);
        let n_passed = n_read.min(before);
        left.store(before - n_passed, Ordering::SeqCst);
        if to.write_all(&buffer[..n_passed]).is_err() || n_passed < n_read || n_read == 0 {
            break;
        }
    }
    // Each of the two ends may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_collector_that_dies_at_any_byte_loses_and_doubles_nothing() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        let lines: String = (0..20).map(|host| Made::new(host, 1).lines()).collect();
        fs::write(scratch.file("r.jsonl"), lines).unwrap();
        let (_, address) = engine.url.rsplit_once('@').unwrap();
        let (address, _) = address.split_once('/').unwrap();
        let mut n_cut = 0;
        for most_bytes in (0..16_000).step_by(997) {
            let url = engine.url_at(cutting(address.parse().unwrap(), most_bytes));
            let run = looptax(&scratch, &["fleet", "send", &url, "--from", "r.jsonl"]);
            if !run.status.success() {
                n_cut += 1;
                run.expect_error(2, &["cannot be reached", "the same command again"]);
            }
            // If a machine is in the collector, all of its findings are there too.
            let seen = engine.ask("latest_reports", &["host_id"]).rows.len();
            assert_eq!(engine.count("latest_findings"), 2 * seen);
        }
        assert!((5..16).contains(&n_cut), "{n_cut}");
        looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]).expect_code(0);
        assert_eq!(engine.count("latest_reports"), 20);
        assert_eq!(engine.count("latest_findings"), 40);
        let pairs = engine.ask("pairs", &["client", "connections"]).rows;
        assert!(pairs.iter().all(|row| row[1] == Value::Count(60)), "{pairs:?}");
    }
}

#[test]
fn what_could_not_be_sent_waits_and_goes_first_when_the_collector_is_back() {
    if !has_number() {
        return;
    }
    let scratch = Scratch::new();
    let address = free_address();
    let url = url_at(address);
    let report = ["fleet", "send", &url, "--spool", "spool", "--records", "none"];
    for n in 1..=2 {
        let words = ["cannot be reached", "Connection refused", "looptax keeps", "the next `looptax fleet send`"];
        looptax(&scratch, &report).expect_error(2, &words);
        assert_eq!(fs::read_dir(scratch.file("spool")).unwrap().count(), n);
    }
    let Some(_server) = ClickHouse::start_at(address, None) else {
        return;
    };
    looptax(&scratch, &report).expect_error(2, &["doesn't exist", "looptax fleet init", "looptax keeps"]);
    looptax(&scratch, &["fleet", "init", &url]).expect_code(0);
    let run = looptax(&scratch, &report);
    run.expect_code(0);
    assert!(run.stdout.contains("4 reports"), "{}", run.stdout);
    assert_eq!(fs::read_dir(scratch.file("spool")).unwrap().count(), 0);
    // There is one machine, and the last report is its newest.
    assert_eq!(ask(&url, "latest_reports", &[]).rows.len(), 1);
}

/// Starts a collector that states its version and then never answers; it signals when an INSERT has begun to arrive.
fn slow() -> (SocketAddr, std::sync::mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (begun, hears) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let begun = begun.clone();
            thread::spawn(move || {
                let mut seen = Vec::new();
                let mut buffer = [0; 4096];
                while let Ok(n_read @ 1..) = client.read(&mut buffer) {
                    seen.extend_from_slice(&buffer[..n_read]);
                    if seen.windows(6).any(|it| it == b"INSERT") {
                        let _ = begun.send(());
                    } else if seen.ends_with(b"version()") {
                        client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n18.16.1\n").unwrap();
                    }
                }
            });
        }
    });
    (address, hears)
}

#[test]
fn a_program_that_is_killed_while_it_sends_sends_again() {
    if !has_number() {
        return;
    }
    let scratch = Scratch::new();
    let (address, hears) = slow();
    let url = url_at(address);
    let report = ["fleet", "send", &url, "--spool", "spool", "--records", "none"];
    let running = command(&scratch, &report).spawn();
    hears.recv().unwrap();
    running.signal(Signal::KILL);
    running.wait();
    let waiting: Vec<_> = fs::read_dir(scratch.file("spool")).unwrap().collect();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    for engine in Engine::all() {
        fs::create_dir_all(scratch.file("again")).unwrap();
        let kept = waiting[0].as_ref().unwrap();
        fs::copy(kept.path(), scratch.file("again").join(kept.file_name())).unwrap();
        let report = ["fleet", "send", &engine.url, "--spool", "again", "--records", "none"];
        let run = looptax(&scratch, &report);
        run.expect_code(0);
        assert!(run.stdout.contains("2 reports"), "{}", run.stdout);
        assert_eq!(engine.count("latest_reports"), 1);
    }
}
