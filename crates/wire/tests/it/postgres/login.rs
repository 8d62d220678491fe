//! Tests of logins by trust, password and md5, and of every way in which a login can fail.

use looptax_testkit::replay::{End, Replay};
use looptax_wire::Login;
use looptax_wire::postgres::Connection;

use super::{LIMIT, authentication, error, login, notice, ready, session};

/// Checks a login; `wanted_sent` is the expected data after the start-up message.
#[track_caller]
fn check_login(login: &Login, request: &[u8], wanted_sent: &[u8]) {
    let answers = [&notice(), request, &session()].concat();
    let mut peer = Replay::new(answers, End::Silent).in_pieces(1);
    let connection = Connection::login(&mut peer, login, LIMIT).expect("a recorded log-in");
    assert_eq!(connection.server_version(), "15.14 (Debian)");
    assert_eq!(connection.connection_id(), 0x1234);
    let sent = connection.into_stream().sent();
    let startup_bytes = u32::from_be_bytes(*sent.first_chunk().expect("a length")) as usize;
    assert_eq!(String::from_utf8_lossy(&sent[startup_bytes..]), String::from_utf8_lossy(wanted_sent));
}

#[test]
fn logs_in_by_trust_password_and_md5() {
    let ali = login("ali", "open sesame");
    check_login(&ali, b"", b"");
    check_login(&ali, &authentication(3, b""), b"p\0\0\0\x10open sesame\0");
    // python3: m=lambda b:hashlib.md5(b).hexdigest()
    //          m(m(b'open sesame'+b'ali').encode()+bytes([1,2,3,255]))
    check_login(&ali, &authentication(5, &[1, 2, 3, 255]), b"p\0\0\0\x28md54e60074775f903c85892137a793cc791\0");
}

#[track_caller]
fn check_startup(database: Option<&str>, wanted: &[u8]) {
    let mut login = login("ann", "");
    login.database = database.map(str::to_owned);
    let mut peer = Replay::new(session(), End::Silent);
    Connection::login(&mut peer, &login, LIMIT).expect("a recorded log-in");
    let length = u32::try_from(wanted.len() + 4).expect("short").to_be_bytes();
    assert_eq!(peer.sent(), [&length, wanted].concat());
}

#[test]
fn starts_with_user_encoding_name_and_database() {
    check_startup(None, b"\0\x03\0\0user\0ann\0client_encoding\0UTF8\0application_name\0looptax\0\0");
    check_startup(
        Some("shop"),
        b"\0\x03\0\0user\0ann\0client_encoding\0UTF8\0application_name\0looptax\0database\0shop\0\0",
    );
}

#[track_caller]
fn check_refused(answers: impl AsRef<[u8]>, wanted: &str) {
    let mut peer = Replay::new(answers.as_ref(), End::Silent);
    let fault = Connection::login(&mut peer, &login("ann", "pw"), LIMIT).expect_err("no log-in");
    assert!(fault.to_string().contains(wanted), "{fault}");
}

#[test]
fn names_why_a_login_failed() {
    let wrong_password = error("28P01", "password authentication failed for user \"ann\"");
    let wanted = "the server reports: password authentication failed for user \"ann\" (code 28P01)";
    check_refused(&wrong_password, wanted);
    check_refused([authentication(3, b""), wrong_password].concat(), wanted);
    let full = error("53300", "sorry, too many clients \x1b[2J");
    check_refused([authentication(0, b""), full].concat(), "clients \\x1b[2J (code 53300)");
    check_refused(authentication(7, b""), "`GSSAPI authentication`");
    check_refused(authentication(9, b""), "`SSPI authentication`");
    check_refused(authentication(10, b"OTHER-1\0OTHER-2\0\0"), "`OTHER-1, OTHER-2`");
    check_refused(authentication(10, b"SCRAM-SHA-256"), "a list of SASL mechanisms");
    check_refused(authentication(99, b""), "a whole backend message");
    check_refused(ready(), "an authentication request");
    check_refused(authentication(0, b"").repeat(2), "parameters, key data or a ready server");
}

#[test]
fn refuses_other_servers_without_waiting_for_more() {
    check_refused(b"J\0\0\0\n5.5.5-10.11.6-MariaDB\0", "a backend message, found J\\x00");
    check_refused(b"HTTP/1.1 400 Bad Request\r\n", "a backend message, found HTTP/");
    check_refused(b"-ERR unknown command\r\n", "a backend message, found -ERR");
    check_refused(b"LTE1\0\0", "a backend message, found LTE1");
    check_refused(b"R\0\0\0\x03", "a message length of 4 or more bytes");
    check_refused(b"R\xff\xff\xff\xff", "announced 4294967295 bytes");
    check_refused(b"R\0\x01\0\x01", "at most 65536 are accepted");
    check_refused(notice().repeat(40_000), "announced");
}
