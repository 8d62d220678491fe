//! Tests of the simple protocol: rows, tags, refusals, limits, and a whole session that ends after any byte.

use looptax_testkit::replay::{End, Replay};
use looptax_wire::WireError;
use looptax_wire::postgres::Connection;

use super::{
    LIMIT, authentication, complete, connect, description, error, login, message, notices, ready, row, row_description,
    session,
};

#[test]
fn a_query_gives_the_rows_of_all_its_statements() {
    let answers = [
        notices(),
        row_description(),
        row(&[Some("a"), None, Some("")]),
        notices(),
        row(&[]),
        complete("SELECT 2"),
        row(&[Some("b")]),
        complete("SELECT 1"),
        ready(),
    ]
    .concat();
    let mut connection = connect(&answers);
    let rows = connection.query("SELECT 'a', NULL, ''; SELECT 'b'").expect("rows");
    let text = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(rows, [vec![text("a"), None, text("")], vec![], vec![text("b")]]);
    let peer = connection.into_stream();
    assert!(peer.sent().ends_with(b"Q\0\0\0\x25SELECT 'a', NULL, ''; SELECT 'b'\0"));
    assert_eq!(peer.unread(), b"");
}

#[test]
fn execute_adds_up_what_the_tags_say() {
    let tags = ["BEGIN", "INSERT 0 3", "UPDATE 4", "COMMIT"].map(complete).concat();
    let mut connection = connect(&[tags, ready(), message(b'I', b""), ready()].concat());
    assert_eq!(connection.execute("BEGIN; …").expect("tags"), 7);
    assert_eq!(connection.execute("").expect("an empty query"), 0);
}

#[test]
fn a_refused_statement_leaves_the_session_usable() {
    let refusal = [error("42P01", "relation \"t\" does not exist"), ready()].concat();
    let good = [complete("DELETE 1"), ready()].concat();
    let mut connection = connect(&[refusal.clone(), refusal, good].concat());
    let wanted = "the server reports: relation \"t\" does not exist (code 42P01)";
    let fault = connection.execute("DELETE FROM t").expect_err("no table");
    assert_eq!(fault.to_string(), wanted);
    let fault = connection.prepare("q", "SELECT c FROM t").expect_err("no table");
    assert_eq!(fault.to_string(), wanted);
    assert_eq!(connection.execute("DELETE FROM s").expect("a table"), 1);
}

#[test]
fn a_fatal_error_counts_more_than_the_end_of_the_stream() {
    let fault = connect(&error("57P01", "shutting down")).execute("SELECT 1").expect_err("the server goes away");
    assert!(matches!(fault, WireError::Server { code, .. } if code == "57P01"));
}

#[track_caller]
fn check_bad_answer(answers: impl AsRef<[u8]>, wanted: &str) {
    let fault = connect(answers.as_ref()).query("SELECT 1").expect_err("a bad answer");
    assert!(fault.to_string().contains(wanted), "{fault}");
}

#[test]
fn limits_and_checks_an_answer() {
    check_bad_answer(b"D\x01\0\0\x01", "announced 16777217 bytes");
    check_bad_answer(message(b'G', b"\0\0\0"), "`COPY`");
    check_bad_answer(message(b'H', b"\0\0\0"), "`COPY`");
    check_bad_answer(message(b'K', b"\0\0\0\0\0\0\0\0"), "a backend message");
    check_bad_answer(message(b'1', b""), "rows or a command tag");
    check_bad_answer(message(b'd', b"data"), "a backend message");
    check_bad_answer(message(b'D', b"\0\x01\0\0\0\x09abc"), "columns of the stated lengths");
    check_bad_answer(message(b'D', b"\0\x02\0\0\0\0"), "columns of the stated lengths");
    check_bad_answer(message(b'C', b"no end"), "a whole backend message");
    let wide = message(b'D', &vec![0xff; 2 + 4 * 0xffff]);
    check_bad_answer(wide.repeat(64), "announced");
}

#[test]
fn a_statement_with_a_zero_byte_is_not_sent() {
    let mut connection = connect(b"");
    let fault = connection.execute("SELECT '\0'").expect_err("not possible");
    assert_eq!(fault.to_string(), "cannot run a statement");
    let sent = connection.into_stream().sent().to_vec();
    assert!(!sent.windows(6).any(|bytes| bytes == b"SELECT"));
}

#[test]
fn a_recording_cut_at_any_byte_is_closed_or_a_timeout() {
    let whole = [
        authentication(5, &[1, 2, 3, 4]),
        session(),
        row_description(),
        row(&[Some("a")]),
        complete("SELECT 1"),
        ready(),
        description(&[23]),
    ]
    .concat();
    let converse = |n_bytes: usize, end: End| {
        let mut peer = Replay::new(&whole[..n_bytes], end);
        let login = login("ann", "pw");
        let mut connection = Connection::login(&mut peer, &login, LIMIT)?;
        connection.query("SELECT 'a'")?;
        connection.prepare("q", "SELECT c FROM t WHERE id = $1")
    };
    for n_bytes in 0..whole.len() {
        let closed = converse(n_bytes, End::Closed);
        assert!(matches!(closed, Err(WireError::Closed { .. })), "{n_bytes}");
        let silent = converse(n_bytes, End::Silent);
        assert!(matches!(silent, Err(WireError::Timeout { .. })), "{n_bytes}");
    }
    assert!(converse(whole.len(), End::Closed).is_ok());
}
