//! Tests of a session: hello, statistics with their limits, filling, and a whole session that ends after any byte.

use std::time::Duration;

use looptax_testkit::replay::{End, Replay};
use looptax_wire::WireError;
use looptax_wire::memcached::Connection;

const LIMIT: Duration = Duration::from_secs(1);
const HELLO: &str = "VERSION 1.6.18\r\n";

/// Sends hello; the peer then sends `answers` byte by byte, so nothing can be read ahead.
#[track_caller]
fn connect(answers: &str) -> Connection<Replay> {
    let peer = Replay::new(format!("{HELLO}{answers}"), End::Closed).in_pieces(1);
    Connection::hello(peer, LIMIT).expect("a recorded hello")
}

/// Sends hello; the peer then sends `answer` in one piece.
#[track_caller]
fn connect_whole(answer: &[u8]) -> Connection<Replay> {
    let peer = Replay::new(HELLO, End::Closed).in_pieces(1).then(answer);
    Connection::hello(peer, LIMIT).expect("a recorded hello")
}

#[test]
fn hello_asks_for_the_version_and_for_nothing_else() {
    let connection = connect("");
    assert_eq!(connection.server_version(), "1.6.18");
    let peer = connection.into_stream();
    assert_eq!(peer.sent(), b"version\r\n");
    assert_eq!(peer.unread(), b"");
}

#[track_caller]
fn check_refused(answer: &[u8], wanted: &str) {
    for piece_bytes in [1, usize::MAX] {
        let peer = Replay::new(answer, End::Silent).in_pieces(piece_bytes);
        let fault = Connection::hello(peer, LIMIT).expect_err("no hello");
        assert!(fault.to_string().contains(wanted), "{fault}");
    }
}

#[test]
fn other_servers_and_refusals_are_named() {
    check_refused(b"-ERR unknown command 'version'\r\n", "expected a word in capitals, found -");
    check_refused(b"J\0\0\0\n5.5.5-10.11.6-MariaDB\0", "not a memcached answer");
    check_refused(b"\x4a\r\n", "expected `VERSION` and a number, found J");
    check_refused(b"STORED\r\n", "expected `VERSION` and a number");
    check_refused(b"ERROR\r\n", "(code ERROR)");
    check_refused(
        b"SERVER_ERROR Too many open connections\r\n",
        "the server reports: Too many open connections (code SERVER_ERROR)",
    );
    check_refused(b"SERVER_ERROR \x1b[2J\r\n", "\\x1b[2J");
}

#[test]
fn statistics_are_names_and_values() {
    let answer = "STAT pid 42\r\nSTAT 11:addr ?:<AF 0>\r\nSTAT empty \r\nEND\r\n";
    let mut connection = connect(&format!("{answer}END\r\n"));
    let found = connection.stats("").expect("statistics");
    let wanted = [("pid", "42"), ("11:addr", "?:<AF 0>"), ("empty", "")];
    assert_eq!(found, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(connection.stats("conns").expect("none"), []);
    let peer = connection.into_stream();
    assert_eq!(peer.sent(), b"version\r\nstats\r\nstats conns\r\n");
}

#[track_caller]
fn check_bad_stats(answer: impl AsRef<[u8]>, wanted: &str) {
    let mut connection = connect_whole(answer.as_ref());
    let fault = connection.stats("").expect_err("no statistics");
    assert!(fault.to_string().contains(wanted), "{fault}");
}

#[test]
fn hostile_statistics_are_refused() {
    check_bad_stats("STAT lonely\r\n", "expected at most 200 000");
    check_bad_stats("VALUE a 0 1\r\n", "expected at most 200 000");
    check_bad_stats("STAT a b\n", "a line that ends in CR and LF");
    check_bad_stats("END\r\nEND\r\n", "one reply per command");
    check_bad_stats("CLIENT_ERROR bad\r\n", "the server reports: bad");
    check_bad_stats("STAT a 1\r\n".repeat(200_001), "expected at most 200 000");
    check_bad_stats(format!("STAT {}", "a".repeat(70_000)), "a line of at most 64 KiB");
    let long = format!("STAT a {}\r\n", "b".repeat(60_000));
    check_bad_stats(long.repeat(300), "at most 16777216 are accepted");
}

fn pairs(n: usize) -> Vec<(String, Vec<u8>)> {
    (0..n).map(|id| (format!("key{id}"), vec![b'v'; 40_000])).collect()
}

#[test]
fn filling_sends_whole_lots_and_stops_at_a_refusal() {
    let mut connection = connect("STORED\r\nSTORED\r\nSTORED\r\n");
    connection.store(&pairs(3)).expect("three replies");
    connection.store(&[]).expect("nothing to do");
    let sent = connection.into_stream().sent().to_vec();
    let start = [b"version\r\nset key0 0 0 40000\r\n".as_slice(), &[b'v'; 9]].concat();
    assert!(sent.starts_with(&start));

    let full = "STORED\r\nSERVER_ERROR out of memory storing object\r\n";
    let mut connection = connect(full);
    let fault = connection.store(&pairs(3)).expect_err("the second fails");
    assert_eq!(fault.to_string(), "the server reports: out of memory storing object (code SERVER_ERROR)");
    let sent = connection.into_stream().sent().to_vec();
    let has_third = sent.windows(4).any(|bytes| bytes == b"key2");
    assert!(!has_third, "the lot after the error was sent");

    let fault = connect("EXISTS\r\n").store(&pairs(1)).expect_err("no answer to set");
    assert!(fault.to_string().contains("expected `STORED`"), "{fault}");
}

#[test]
fn a_recording_cut_at_any_byte_is_closed_or_a_timeout() {
    let whole = format!("{HELLO}STORED\r\nSTAT a b\r\nEND\r\n");
    let converse = |n_bytes: usize, end: End| {
        let peer = Replay::new(&whole.as_bytes()[..n_bytes], end).in_pieces(1);
        let mut connection = Connection::hello(peer, LIMIT)?;
        connection.store(&pairs(1))?;
        connection.stats("")
    };
    for n_bytes in 0..whole.len() {
        let closed = converse(n_bytes, End::Closed);
        assert!(matches!(closed, Err(WireError::Closed { .. })), "{n_bytes}");
        let silent = converse(n_bytes, End::Silent);
        assert!(matches!(silent, Err(WireError::Timeout { .. })), "{n_bytes}");
    }
    assert!(converse(whole.len(), End::Closed).is_ok());
}
