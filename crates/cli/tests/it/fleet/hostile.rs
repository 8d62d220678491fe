//! Collectors that are not real, and reports that no machine made: looptax keeps to its limits, and prints one clear
//! error.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use looptax_fleet::{Access, Collector, Destination, FleetError, Question};
use looptax_testkit::scratch::Scratch;

use super::made::Made;
use super::{Engine, looptax};

/// Answers every connection with `head` and then with `more` again and again; if `more` is empty, with nothing after
/// `head`.
fn answering(head: &'static [u8], more: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            thread::spawn(move || {
                let _ = client.read(&mut [0; 8 << 10]);
                let mut is_heard = client.write_all(head).is_ok();
                let more = more.repeat(1_000);
                while is_heard && !more.is_empty() {
                    is_heard = client.write_all(&more).is_ok();
                }
            });
        }
    });
    address
}

#[test]
fn what_is_no_collector_ends_in_one_clear_error() {
    let scratch = Scratch::new();
    fs::write(scratch.file("r.jsonl"), Made::new(1, 1).lines()).unwrap();
    let http = b"HTTP/1.1 200 OK\r\n\r\n";
    for (scheme, head, more) in [
        ("clickhouse", &b""[..], &b""[..]),
        ("clickhouse", b"\x15\x03\x01", b""),
        ("clickhouse", b"", b"garbage"),
        ("clickhouse", b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        ("clickhouse", http, b"endless "),
        ("clickhouse", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nno\n", b""),
        ("clickhouse", b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", b""),
        ("clickhouse", b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", b""),
        ("clickhouse", b"HTTP/1.1 503 No\r\n\r\n", b"x\x1b[2J"),
        ("clickhouse", b"HTTP/1.1 500 No\r\n\r\nCode: 60, e.displayText() = \x1b]0;x\x07", b"words "),
        ("postgres", b"", b""),
        ("postgres", b"", b"garbage"),
        ("postgres", b"R\xff\xff\xff\xff", b"x"),
        ("postgres", b"R\0\0\0\x08\0\0\0\0", b"N\0\0\0\x06x\0"),
        ("postgres", b"E\0\0\0\x04", b""),
    ] {
        let url = format!("{scheme}://u:qZ7@{}/x", answering(head, more));
        let run = looptax(&scratch, &["fleet", "send", &url, "--from", "r.jsonl"]);
        run.expect_error(2, &["127.0.0.1"]);
        assert!(run.stderr.len() < 1_500, "{}", run.stderr);
        assert!(!run.stderr.contains(['\x1b', '\x07']), "{:?}", run.stderr);
        assert!(!run.stderr.contains("qZ7"), "{}", run.stderr);
    }
}

#[test]
fn a_collector_that_says_nothing_is_waited_for_no_longer_than_it_may() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let access = Access { answer_limit: Duration::from_millis(300), ..Access::default() };
    for scheme in ["clickhouse", "postgres"] {
        let destination = Destination::parse(&format!("{scheme}://u@{address}/x")).unwrap();
        let opened = Collector::open(&destination, &access);
        assert!(matches!(opened, Err(FleetError::Away { .. })));
    }
}

#[test]
fn an_answer_of_other_values_is_refused() {
    let version = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n18.16.1\n";
    let address = answering(version, b"");
    let destination = Destination::parse(&format!("clickhouse://u@{address}/x")).unwrap();
    let mut collector = Collector::open(&destination, &Access::default()).unwrap();
    let question = Question { view: "pairs", ..Question::default() };
    let asked = collector.ask(&question);
    assert!(matches!(asked, Err(FleetError::Answer { .. } | FleetError::Away { .. })), "{asked:?}");
}

#[test]
fn reports_of_strangers_cost_themselves_alone() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        let good = Made::new(1, 1);
        let mut huge = Made::new(2, 1);
        huge.clients[0].0 = "x".repeat(10 << 20);
        let mut lying = Made::new(3, 1);
        lying.clients = vec![("a".to_owned(), true); 3];
        let lying = lying.lines().replace("\"findings\":3", "\"findings\":9999");
        let mut climbing = Made::new(4, 1);
        climbing.id = "../../../climbed".to_owned();
        let endless = Made::new(5, 1).lines();
        let endless = endless.lines().next().unwrap();
        let other = good.lines().replace("\"schema_version\":1", "\"schema_version\":2");
        let lines = [
            huge.lines(),
            lying,
            climbing.lines(),
            format!("{endless}\n"),
            other,
            "{}\n[1]\n\"\0\"\n\n".to_owned(),
            good.lines(),
        ];
        fs::write(scratch.file("r.jsonl"), lines.concat()).unwrap();
        let run = looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]);
        run.expect_code(1);
        assert!(run.stdout.contains("1 report with 2 findings"), "{}", run.stdout);
        assert!(run.stdout.contains("left out: r.jsonl: line 1 "), "{}", run.stdout);
        assert!(run.stdout.len() < 4_000, "{}", run.stdout);
        assert_eq!(engine.count("latest_reports"), 1);
        // For a folder as the destination, these names are harmless too.
        looptax(&scratch, &["fleet", "send", "./out", "--from", "r.jsonl"]).expect_code(1);
        assert_eq!(fs::read_dir(scratch.file("out")).unwrap().count(), 1);
        assert!(engine.is_clickhouse() || !scratch.file("climbed.jsonl").exists());
    }
}
