//! Tests of a session: hello without an account, the server's report about itself, refusals, and a session that ends
//! after any byte.

use looptax_testkit::replay::{End, Replay};
use looptax_wire::mongodb::{Connection, Status};
use looptax_wire::{Login, WireError};

use super::{LIMIT, answer, document, double, element, greeting, int, nobody, ok, text};

/// Logs in; the peer then sends `answers` in pieces, so nothing can be read ahead.
#[track_caller]
fn connect(answers: &[u8]) -> Connection<Replay> {
    let peer = Replay::new([&greeting(), answers].concat(), End::Closed).in_pieces(7);
    Connection::login(peer, &nobody(), LIMIT).expect("a recorded login")
}

#[test]
fn a_server_says_who_it_is_and_where_we_come_from() {
    let connection = connect(b"behind");
    assert_eq!(connection.server_version(), "1.24.2");
    assert!(connection.is_ferretdb() && !connection.is_replicated());
    assert_eq!(connection.peer(), "127.0.0.1:40000".parse().ok());
    assert_eq!(connection.database(), "shop");
    assert_eq!(connection.into_stream().unread(), b"behind");
}

#[test]
fn over_a_socket_it_tells_no_address() {
    let answers = [
        answer(1, &[int("maxWireVersion", 21), text("setName", "rs"), ok()]),
        answer(2, &[text("version", "7.0.14"), ok()]),
        answer(3, &[text("you", "invalid AddrPort"), ok()]),
    ];
    let peer = Replay::new(answers.concat(), End::Closed);
    let connection = Connection::login(peer, &nobody(), LIMIT).expect("a recorded login");
    assert_eq!((connection.peer(), connection.server_version()), (None, "7.0.14"));
    assert!(!connection.is_ferretdb() && connection.is_replicated());
}

#[test]
fn its_work_is_counted_by_command() {
    let find = document(&[element(0x12, "total", &9_i64.to_le_bytes()), int("failed", 1)]);
    let commands = document(&[element(0x03, "find", &find)]);
    let metrics = document(&[element(0x03, "commands", &commands)]);
    let connections = document(&[int("current", 4), int("available", 96), int("totalCreated", 40)]);
    let status =
        [double("pid", 42.0), element(0x03, "metrics", &metrics), element(0x03, "connections", &connections), ok()];
    let mut connection = connect(&[answer(4, &status), answer(5, &status)].concat());
    let wanted = Status { pid: 42, n_connections: Some(40), commands: vec![("find".to_owned(), 9)] };
    assert_eq!(connection.status().expect("a status"), wanted);
    assert_eq!(connection.capacity().expect("a status"), Some((100, 4)));
}

#[test]
fn databases_have_names() {
    let named = |name| document(&[text("name", name)]);
    let list = document(&[element(0x03, "0", &named("shop")), element(0x03, "1", &named("admin"))]);
    let mut connection = connect(&answer(4, &[element(0x04, "databases", &list), ok()]));
    assert_eq!(connection.databases().expect("names"), ["shop", "admin"]);
}

#[track_caller]
fn check_refused(login: &Login, answers: &[u8], wanted: &str) {
    for piece_bytes in [1, usize::MAX] {
        let peer = Replay::new(answers, End::Silent).in_pieces(piece_bytes);
        let fault = Connection::login(peer, login, LIMIT).expect_err("no login");
        assert!(fault.to_string().contains(wanted), "{fault}");
    }
}

#[test]
fn other_servers_and_refusals_are_named() {
    check_refused(&nobody(), b"-ERR unknown command\r\n", "not a MongoDB answer");
    check_refused(&nobody(), b"J\0\0\0\x0a5.5.5-10.11.6-MariaDB\0 ", "not a MongoDB answer");
    check_refused(&nobody(), &answer(1, &[int("maxWireVersion", 5), ok()]), "before 6 (MongoDB 3.6)");
    check_refused(&nobody(), &answer(1, &[ok()]), "a document with the requested fields");
    let unknown = [double("ok", 0.0), text("errmsg", "no such command: 'hello'"), int("code", 59)];
    check_refused(&nobody(), &answer(1, &unknown), "no such command: 'hello' (code 59)");
    let ann = Login { user: "ann".to_owned(), ..nobody() };
    let mechanisms = document(&[text("0", "SCRAM-SHA-1"), text("1", "PLAIN")]);
    let hello = [int("maxWireVersion", 21), element(0x04, "saslSupportedMechs", &mechanisms), ok()];
    check_refused(&ann, &answer(1, &hello), "`SCRAM-SHA-1, PLAIN`");
    let unsafe_name = Login { database: Some("a\0b".to_owned()), ..nobody() };
    check_refused(&unsafe_name, b"", "must not be empty or contain a zero");
}

#[test]
fn a_login_that_breaks_off_anywhere_ends_in_an_error() {
    let whole = greeting();
    for n in 0..whole.len() {
        for (end, is_right) in [
            (End::Closed, (|it| matches!(it, WireError::Closed { .. })) as fn(&WireError) -> bool),
            (End::Silent, |it| matches!(it, WireError::Timeout { .. })),
        ] {
            let peer = Replay::new(&whole[..n], end);
            let fault = Connection::login(peer, &nobody(), LIMIT).expect_err("a part");
            assert!(is_right(&fault), "{n}: {fault}");
        }
    }
}

#[test]
fn a_long_answer_before_the_login_is_not_waited_for() {
    let mut long = answer(1, &[ok()]);
    long[..4].copy_from_slice(&(65_u32 << 10).to_le_bytes());
    let fault = Connection::login(Replay::new(long, End::Silent), &nobody(), LIMIT);
    assert!(matches!(fault, Err(WireError::TooLong { .. })));
}
