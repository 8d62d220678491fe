//! Tests of a session: login, values with their limits, pipelines, and a whole session that ends after any byte.
//!
//! The tests use no sockets: the peer is a recording.

use std::time::Duration;

use looptax_model::dsn::Secret;
use looptax_testkit::replay::{End, Replay};
use looptax_wire::redis::{Connection, Value};
use looptax_wire::{Login, WireError};

const LIMIT: Duration = Duration::from_secs(1);
/// Answers to `INFO server` and `CLIENT ID`.
const FACTS: &str = "$37\r\n# Server\r\nredis_version:7.0.15\r\na:b\r\n\r\n:42\r\n";
const VALKEY_FACTS: &str = "$43\r\nredis_version:7.2.4\r\nvalkey_version:8.1.1\r\n\r\n:7\r\n";

fn login(user: &str, password: &str, database: Option<&str>) -> Login {
    Login {
        user: user.to_owned(),
        password: Secret::new(password),
        database: database.map(str::to_owned),
        ..Login::default()
    }
}

/// Logs in with the answers `FACTS`; the peer then sends `answers` byte by byte, so nothing can be read ahead.
#[track_caller]
fn connect(answers: &[u8]) -> Connection<Replay> {
    let answers = [FACTS.as_bytes(), answers].concat();
    let peer = Replay::new(answers, End::Closed).in_pieces(1);
    Connection::login(peer, &Login::default(), LIMIT).expect("a recorded log-in")
}

/// Logs in with the answers `FACTS`; the peer then sends `answer` in one piece.
#[track_caller]
fn connect_whole(answer: &[u8]) -> Connection<Replay> {
    let peer = Replay::new(FACTS, End::Closed).in_pieces(1).then(answer);
    Connection::login(peer, &Login::default(), LIMIT).expect("a recorded log-in")
}

#[track_caller]
fn check_login(login: &Login, answers: &str, wanted_sent: &str) {
    let answers = format!("{answers}{FACTS}");
    let mut peer = Replay::new(answers, End::Silent).in_pieces(1);
    let connection = Connection::login(&mut peer, login, LIMIT).expect("a recorded log-in");
    assert_eq!(connection.server_version(), "7.0.15");
    assert!(!connection.is_valkey());
    assert_eq!(connection.connection_id(), 42);
    let questions = "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n";
    assert_eq!(String::from_utf8_lossy(peer.sent()), format!("{wanted_sent}{questions}"));
}

#[test]
fn sends_only_the_commands_that_the_login_needs() {
    let auth_one = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n";
    let auth_two = "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$2\r\npw\r\n";
    let select = "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n";
    check_login(&login("", "", None), "", "");
    check_login(&login("", "pw", None), "+OK\r\n", auth_one);
    check_login(&login("ann", "pw", None), "+OK\r\n", auth_two);
    check_login(&login("", "", Some("0")), "", "");
    check_login(&login("", "", Some("3")), "+OK\r\n", select);
    check_login(&login("", "pw", Some("3")), "+OK\r\n+OK\r\n", &format!("{auth_one}{select}"));
}

#[test]
fn tells_valkey_from_redis() {
    let mut peer = Replay::new(VALKEY_FACTS, End::Silent).in_pieces(1);
    let connection = Connection::login(&mut peer, &Login::default(), LIMIT).expect("a recorded log-in");
    assert!(connection.is_valkey());
    assert_eq!(connection.server_version(), "8.1.1");
}

#[track_caller]
fn check_refused(login: &Login, answers: &[u8], wanted: &str) {
    for piece_bytes in [1, usize::MAX] {
        let mut peer = Replay::new(answers, End::Silent).in_pieces(piece_bytes);
        let fault = Connection::login(&mut peer, login, LIMIT).expect_err("no log-in");
        assert!(fault.to_string().contains(wanted), "{fault}");
    }
}

#[test]
fn names_why_a_login_failed() {
    let nobody = Login::default();
    let somebody = login("ann", "pw", None);
    check_refused(
        &nobody,
        b"-NOAUTH Authentication required.\r\n",
        "the server reports: Authentication required. (code NOAUTH)",
    );
    check_refused(&somebody, b"-WRONGPASS invalid username-password pair\r\n", "(code WRONGPASS)");
    for answer in [
        "-ERR AUTH <password> called without any password configured for the default user.\r\n",
        "-ERR Client sent AUTH, but no password is set\r\n",
    ] {
        let mut peer = Replay::new(answer, End::Silent);
        let fault = Connection::login(&mut peer, &login("", "pw", None), LIMIT).unwrap_err();
        assert!(matches!(fault, WireError::NeedlessPassword { .. }), "{fault}");
    }
    check_refused(&somebody, b":1\r\n", "expected `OK`, found 1");
    check_refused(&nobody, b"$3\r\nabc\r\n", "redis_version");
    check_refused(&nobody, b"-\x1b[2J\r\n", "\\x1b[2J");
}

#[test]
fn refuses_other_servers_without_waiting_for_more() {
    let nobody = Login::default();
    check_refused(&nobody, b"J\0\0\0\n5.5.5-10.11.6-MariaDB\0", "expected a RESP2 reply, found J");
    check_refused(&nobody, b"HTTP/1.1 400 Bad Request\r\n", "expected a RESP2 reply, found H");
    check_refused(&nobody, b"E\0\0\0\x0eSFATAL\0\0", "expected a RESP2 reply, found E");
    check_refused(&nobody, b"%1\r\n", "expected a RESP2 reply, found %");
}

#[track_caller]
fn check_value(answer: &str, wanted: &Value) {
    let mut connection = connect(answer.as_bytes());
    let found = connection.command(&[b"ANY"]).expect("a whole value");
    assert_eq!(&found, wanted, "{answer:?}");
    assert_eq!(connection.into_stream().unread(), b"");
}

#[test]
fn reads_every_kind_of_value() {
    check_value("+hello there\r\n", &Value::Simple("hello there".to_owned()));
    check_value(":-9223372036854775808\r\n", &Value::Integer(i64::MIN));
    check_value("$5\r\na\r\nbc\r\n", &Value::Bulk(Some(b"a\r\nbc".to_vec())));
    check_value("$0\r\n\r\n", &Value::Bulk(Some(Vec::new())));
    check_value("$-1\r\n", &Value::Bulk(None));
    check_value("*-1\r\n", &Value::Array(None));
    check_value("*0\r\n", &Value::Array(Some(Vec::new())));
    let error = Value::Error { code: "ERR".to_owned(), message: "no".to_owned() };
    let nested = Value::Array(Some(vec![Value::Integer(2), error]));
    check_value("*2\r\n:1\r\n*2\r\n:2\r\n-ERR no\r\n", &Value::Array(Some(vec![Value::Integer(1), nested])));
}

#[track_caller]
fn check_bad_value(answer: impl AsRef<[u8]>, wanted: &str) {
    let mut connection = connect_whole(answer.as_ref());
    let fault = connection.command(&[b"ANY"]).expect_err("no value");
    assert!(fault.to_string().contains(wanted), "{fault}");
}

#[test]
fn limits_what_the_peer_may_announce() {
    check_bad_value("$16777217\r\n", "announced 16777217 bytes");
    check_bad_value("*1000001\r\n", "announced 1000001 bytes");
    check_bad_value("*2\r\n:1\r\n*1000000\r\n", "at most 999998 are accepted");
    check_bad_value("$-2\r\n", "a length of 0 or more");
    check_bad_value("$99999999999999999999\r\n", "a decimal number");
    check_bad_value("$\r\n", "a decimal number");
    check_bad_value("*1x\r\n", "a decimal number");
    check_bad_value(":1\n", "a line that ends in CR and LF");
    check_bad_value("$3\r\nabcde\r\n", "a line end after a string");
    check_bad_value("*1\r\n".repeat(100_000), "at most 8 nested arrays");
    check_bad_value(format!("{}:5\r\n", "*1\r\n".repeat(9)), "at most 8 nested arrays");
    check_bad_value([b"+", vec![b'a'; 70_000].as_slice()].concat(), "a line of at most 64 KiB");
}

#[test]
fn eight_nested_arrays_are_fine() {
    let mut wanted = Value::Integer(5);
    for _ in 0..8 {
        wanted = Value::Array(Some(vec![wanted]));
    }
    check_value(&format!("{}:5\r\n", "*1\r\n".repeat(8)), &wanted);
}

#[test]
fn limits_a_reply_as_a_whole() {
    let string = [b"$16777216\r\n", vec![b'a'; 16 << 20].as_slice(), b"\r\n"].concat();
    let answer = [b"*4\r\n".as_slice(), &string, &string, &string, &string].concat();
    let mut connection = connect_whole(&answer);
    let fault = connection.command(&[b"ANY"]).expect_err("over 64 MiB");
    assert!(matches!(fault, WireError::TooLong { limit, .. } if limit == 64 << 20), "{fault}");
}

#[test]
fn an_error_leaves_the_session_usable() {
    let mut connection = connect(b"-ERR unknown command 'ANY'\r\n+PONG\r\n");
    let fault = connection.command(&[b"ANY"]).expect_err("an error reply");
    assert_eq!(fault.to_string(), "the server reports: unknown command 'ANY' (code ERR)");
    let pong = connection.command(&[b"PING"]).expect("a reply");
    assert_eq!(pong, Value::Simple("PONG".to_owned()));
}

#[test]
fn a_pipeline_gives_one_value_per_command() {
    let set = |key: &str| vec![b"SET".to_vec(), key.as_bytes().to_vec(), vec![b'v'; 40_000]];
    let commands = [set("a"), set("b"), set("c")];
    let mut connection = connect(b"+OK\r\n+OK\r\n+OK\r\n");
    let values = connection.pipeline(&commands).expect("three replies");
    assert_eq!(values, vec![Value::Simple("OK".to_owned()); 3]);
    assert_eq!(connection.pipeline(&[]).expect("nothing to do"), []);

    let mut connection = connect(b"+OK\r\n-OOM full\r\n");
    let fault = connection.pipeline(&commands).expect_err("the second fails");
    assert!(matches!(fault, WireError::Server { code, .. } if code == "OOM"));
    let sent = connection.into_stream().sent().to_vec();
    let was_third_sent = sent.windows(3).any(|bytes| bytes == b"\nc\r");
    assert!(!was_third_sent, "the lot after the error was sent");
}

#[test]
fn a_recording_cut_at_any_byte_is_closed_or_a_timeout() {
    let whole = format!("+OK\r\n+OK\r\n{FACTS}*2\r\n$3\r\nabc\r\n:1\r\n");
    let login = login("ann", "pw", Some("1"));
    let converse = |n_bytes: usize, end: End| {
        let peer = Replay::new(&whole.as_bytes()[..n_bytes], end).in_pieces(1);
        Connection::login(peer, &login, LIMIT)?.command(&[b"ANY"])
    };
    for n_bytes in 0..whole.len() {
        let closed = converse(n_bytes, End::Closed);
        assert!(matches!(closed, Err(WireError::Closed { .. })), "{n_bytes}");
        let silent = converse(n_bytes, End::Silent);
        assert!(matches!(silent, Err(WireError::Timeout { .. })), "{n_bytes}");
    }
    assert!(converse(whole.len(), End::Closed).is_ok());
}

#[test]
fn unasked_bytes_are_an_error() {
    let mut peer = Replay::new(format!("{FACTS}+MORE\r\n"), End::Closed);
    let fault = Connection::login(&mut peer, &Login::default(), LIMIT).expect_err("too much");
    assert!(fault.to_string().contains("one reply per command"), "{fault}");
}
