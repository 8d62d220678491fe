//! Tests of the prepared query: the bytes sent for a key, and the position of the value in a reply.

use looptax_wire::postgres::PreparedQuery;
use looptax_wire::{Codec, Reply, WireError};

use super::{complete, connect, description, error, message, notices, ready, row, row_description};

#[track_caller]
pub(crate) fn prepare(oids: &[u32]) -> Result<PreparedQuery, WireError> {
    let mut connection = connect(&description(oids));
    let query = connection.prepare("q", "SELECT 1")?;
    let peer = connection.into_stream();
    assert_eq!(peer.unread(), b"");
    assert!(peer.sent().ends_with(b"P\0\0\0\x11q\0SELECT 1\0\0\0D\0\0\0\x07Sq\0S\0\0\0\x04"));
    Ok(query)
}

#[track_caller]
fn check_request(oids: &[u32], key: u64, wanted_bind: &[u8]) {
    let mut query = prepare(oids).expect("a recorded description");
    let mut out = b"before".to_vec();
    query.request(&mut 1_u64, &mut Vec::new());
    query.request(&mut { key }, &mut out);
    let rest = b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    assert_eq!(out, [b"before", wanted_bind, rest].concat());
}

#[test]
fn sends_the_key_in_the_parameters_own_width() {
    check_request(&[], 7, b"B\0\0\0\x0f\0q\0\0\0\0\0\0\x01\0\0");
    check_request(&[23], 0x0102_0304, b"B\0\0\0\x19\0q\0\0\x01\0\x01\0\x01\0\0\0\x04\x01\x02\x03\x04\0\x01\0\0");
    check_request(
        &[20],
        0x0102_0304_0506_0708,
        b"B\0\0\0\x1d\0q\0\0\x01\0\x01\0\x01\0\0\0\x08\x01\x02\x03\x04\x05\x06\x07\x08\0\x01\0\0",
    );
}

#[test]
fn refuses_parameters_that_are_no_key() {
    let fault = prepare(&[25]).expect_err("text");
    assert!(fault.to_string().contains("type 25, neither int4 nor int8"), "{fault}");
    let fault = prepare(&[23, 23]).expect_err("two");
    assert!(fault.to_string().contains("2 parameters"), "{fault}");
    let undescribed = [message(b'1', b""), ready()].concat();
    let fault = connect(&undescribed).prepare("q", "SELECT 1").expect_err("nothing");
    assert!(fault.to_string().contains("the statement's parameters"), "{fault}");
}

/// Makes a reply that has these messages between `BindComplete` and `ReadyForQuery`.
fn reply_of(messages: &[Vec<u8>]) -> Vec<u8> {
    [message(b'2', b""), messages.concat(), ready()].concat()
}

/// Checks the data of a reply, which must be `wanted`.
#[track_caller]
fn check_reply(messages: &[Vec<u8>], wanted: &str) {
    let mut query = prepare(&[23]).expect("a recorded description");
    let reply = reply_of(messages);
    let followed = reply.repeat(2);
    let found = query.reply(&followed).expect("a good reply");
    let Reply { bytes, data } = found.expect("a whole reply");
    assert_eq!(bytes, reply.len());
    assert_eq!(&followed[data], wanted.as_bytes());
    for n_bytes in 0..reply.len() {
        let found = query.reply(&reply[..n_bytes]).expect("a part");
        assert_eq!(found, None, "{n_bytes} of {} bytes", reply.len());
    }
}

#[test]
fn finds_the_first_column_of_the_first_row() {
    let (columns, one) = (row_description(), complete("SELECT 1"));
    check_reply(&[columns.clone(), row(&[Some("value")]), one.clone()], "value");
    let two = [row(&[Some("a"), Some("b")]), row(&[Some("c")])].concat();
    check_reply(&[columns.clone(), two, one.clone()], "a");
    check_reply(&[columns.clone(), row(&[None]), one.clone()], "");
    check_reply(&[columns.clone(), row(&[]), one.clone()], "");
    check_reply(&[columns.clone(), complete("SELECT 0")], "");
    check_reply(&[message(b'n', b""), complete("UPDATE 1")], "");
    check_reply(&[message(b'n', b""), message(b'I', b"")], "");
    check_reply(&[notices(), columns, notices(), row(&[Some("x")]), notices(), one], "x");
}

#[track_caller]
fn check_bad_reply(received: impl AsRef<[u8]>, wanted: &str) {
    let mut query = prepare(&[23]).expect("a recorded description");
    let fault = query.reply(received.as_ref()).expect_err("a bad reply");
    assert!(fault.to_string().contains(wanted), "{fault}");
}

#[test]
fn a_prepared_query_takes_no_other_reply() {
    check_bad_reply(reply_of(&[error("57014", "cancelled")]), "cancelled (code 57014)");
    check_bad_reply(message(b'E', b"no end"), "(code )");
    check_bad_reply(reply_of(&[]), "a completed command");
    check_bad_reply(b"HTTP/1.1 ", "an answer to a statement, found HTTP/");
    check_bad_reply(b"D\x01\0\0\x01", "announced 16777217 bytes");
    check_bad_reply(b"D\0\0\0\x03", "a message length of 4 or more bytes");
    check_bad_reply(message(b'D', b"\0\x01\0\0\0\x09abc"), "a column inside its row");
    check_bad_reply(message(b'D', b"\0\x01\0\0"), "a row of columns");
    check_bad_reply(message(b'D', b""), "a row of columns");
}
