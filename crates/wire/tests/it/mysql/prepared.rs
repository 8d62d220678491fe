//! Tests of the prepared query's codec: requests byte by byte, replies in every dialect and layout.

use looptax_wire::mysql::PreparedQuery;
use looptax_wire::{Codec, Reply, WireError};

use super::scripted::{Flavour, connected, packet, packets, prepared, result};

const LONGLONG: u8 = 0x08;
const STRING: u8 = 0xfd;

fn point_select(flavour: Flavour) -> PreparedQuery {
    let answer = prepared(flavour, 1, &[STRING]);
    let mut connection = connected(flavour, &answer);
    connection.prepare("SELECT c FROM sbtest1 WHERE id = ?").expect("a prepared statement")
}

/// Feeds `reply` byte by byte: before its last byte the codec must not report a reply, then a reply with `data`.
#[track_caller]
fn check_reply(query: &mut PreparedQuery, reply: &[u8], data: &[u8]) {
    for n_bytes in 0..reply.len() {
        assert_eq!(query.reply(&reply[..n_bytes]).expect("no fault"), None, "after {n_bytes} bytes");
    }
    // The following bytes belong to the next reply.
    let received = [reply, b"\x01\x00\x00"].concat();
    let found = query.reply(&received).expect("no fault").expect("the reply is whole");
    assert_eq!(found.bytes, reply.len());
    assert_eq!(received[found.data], *data);
}

#[test]
fn finds_the_value_in_every_dialect() {
    for flavour in Flavour::ALL {
        let mut query = point_select(flavour);
        let reply = result(flavour, &[STRING], true, &[b"\0\0\x03abc"]);
        check_reply(&mut query, &reply, b"abc");
        check_reply(&mut query, &reply, b"abc");
    }
}

#[test]
fn needs_no_definitions_when_mariadb_has_sent_them_before() {
    let mut query = point_select(Flavour::MariaDb);
    let short = result(Flavour::MariaDb, &[STRING], false, &[b"\0\0\x03abc"]);
    check_reply(&mut query, &short, b"abc");
    // The table has changed: the server sends the definitions again, and the codec keeps them.
    let number = [0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let long = result(Flavour::MariaDb, &[LONGLONG], true, &[&number]);
    check_reply(&mut query, &long, &number[2..]);
    let short = result(Flavour::MariaDb, &[LONGLONG], false, &[&number]);
    check_reply(&mut query, &short, &number[2..]);
}

#[track_caller]
fn check_layout(kind: u8, cell: &[u8], data: &[u8]) {
    let row = [b"\0\0", cell].concat();
    let reply = result(Flavour::MySql8, &[kind], true, &[&row]);
    check_reply(&mut point_select(Flavour::MySql8), &reply, data);
}

#[test]
fn reads_each_layout_of_a_value() {
    for (kind, n_bytes) in [(0x01, 1), (0x02, 2), (0x0d, 2), (0x03, 4), (0x04, 4), (0x09, 4), (0x05, 8), (LONGLONG, 8)]
    {
        check_layout(kind, &[7; 8][..n_bytes], &[7; 8][..n_bytes]);
    }
    check_layout(STRING, b"\x00", b"");
    check_layout(0xf6, b"\x043.14", b"3.14");
    check_layout(0x0c, b"\x04\xe9\x07\x01\x02", b"\xe9\x07\x01\x02");
    let long = [&[0xfc, 0x2c, 0x01][..], &[b'x'; 300]].concat();
    check_layout(0xfc, &long, &[b'x'; 300]);
}

#[test]
fn null_no_row_and_no_result_have_no_data() {
    let mut query = point_select(Flavour::MySql56);
    let null = result(Flavour::MySql56, &[STRING], true, &[b"\0\x04"]);
    check_reply(&mut query, &null, b"");
    let none = result(Flavour::MySql56, &[STRING], true, &[]);
    check_reply(&mut query, &none, b"");
    check_reply(&mut query, &packet(1, &[0, 1, 0, 2, 0, 0, 0]), b"");
}

#[test]
fn the_data_is_that_of_the_first_row() {
    let mut query = point_select(Flavour::MySql8);
    let rows: [&[u8]; 3] = [b"\0\0\x01a\x01b", b"\0\0\x01c\x01d", b"\0\x0c"];
    check_reply(&mut query, &result(Flavour::MySql8, &[STRING; 2], true, &rows), b"a");
}

#[test]
fn the_bitmap_of_nulls_grows_with_the_columns() {
    let mut query = point_select(Flavour::MySql8);
    let row = b"\0\0\xfe\x01a\x01b";
    check_reply(&mut query, &result(Flavour::MySql8, &[STRING; 7], true, &[row]), b"a");
}

#[test]
fn sends_the_type_once_and_again_after_an_error() {
    let mut query = point_select(Flavour::MariaDb);
    let head = b"\x17\x04\x03\x02\x01\x00\x01\x00\x00\x00";
    let key = 0x8877_6655_4433_2211_u64;
    let first = packet(0, &[&head[..], b"\0\x01\x08\0", &key.to_le_bytes()].concat());
    let later = packet(0, &[&head[..], b"\0\0", &key.to_le_bytes()].concat());
    let mut out = b"before".to_vec();
    query.request(&mut { key }, &mut out);
    query.request(&mut { key }, &mut out);
    assert_eq!(out, [&b"before"[..], &first, &later].concat());
    let fault = query.reply(&packet(1, b"\xff\x15\x04#HY000no")).unwrap_err();
    assert_eq!(fault.to_string(), "the server reports: no (code 1045)");
    out.clear();
    query.request(&mut { key }, &mut out);
    assert_eq!(out, first);
}

#[test]
fn a_query_without_a_key_is_always_the_same_request() {
    let mut connection = connected(Flavour::MySql8, &prepared(Flavour::MySql8, 0, &[STRING]));
    let mut query = connection.prepare("SELECT 1").unwrap();
    let wanted = packet(0, b"\x17\x04\x03\x02\x01\x00\x01\x00\x00\x00");
    for key in 0..3 {
        let mut out = Vec::new();
        query.request(&mut { key }, &mut out);
        assert_eq!(out, wanted);
    }
}

#[test]
fn refuses_two_parameters_and_stays_in_step() {
    for flavour in Flavour::ALL {
        let answers = [
            prepared(flavour, 2, &[STRING]),
            packet(1, &[0, 9, 0, 2, 0, 0, 0]),
            packet(1, b"\xff\x28\x04#42000no such syntax"),
        ]
        .concat();
        let mut connection = connected(flavour, &answers);
        let fault = connection.prepare("SELECT c FROM t WHERE a = ? AND b = ?").unwrap_err();
        assert!(matches!(fault, WireError::Unsupported { .. }), "{fault:?}");
        assert_eq!(connection.execute("DO 1").unwrap(), 9);
        let fault = connection.prepare("SELEKT").unwrap_err();
        assert_eq!(fault.to_string(), "the server reports: no such syntax (code 1064)");
    }
}

#[track_caller]
fn check_wrong(received: &[u8]) {
    let mut query = point_select(Flavour::MySql56);
    let fault = query.reply(received).expect_err("a fault");
    assert!(matches!(fault, WireError::Malformed { .. } | WireError::TooLong { .. }), "{fault:?}");
    // An error ends the reply: the next reply is read from its start.
    let reply = result(Flavour::MySql56, &[STRING], true, &[b"\0\0\x03abc"]);
    check_reply(&mut query, &reply, b"abc");
}

#[test]
fn refuses_replies_that_are_none() {
    let definition = super::scripted::definition(STRING);
    let end: &[u8] = &[0xfe, 0, 0, 2, 0];
    check_wrong(b"HTTP/1.1 400 Bad Request");
    check_wrong(b"\xff\xff\xff\x01");
    check_wrong(b"\x01\x00\x00\x02\x01");
    check_wrong(&packets(1, &[b""]));
    check_wrong(&packets(1, &[b"\x01", b"def"]));
    check_wrong(&packets(1, &[b"\x01", &definition, &definition]));
    check_wrong(&packets(1, &[b"\x01", &definition, end, b""]));
    check_wrong(&packets(1, &[b"\x01", &definition, end, b"\0"]));
    check_wrong(&packets(1, &[b"\x01", &definition, end, b"\0\0"]));
    check_wrong(&packets(1, &[b"\x01", &definition, end, b"\0\0\x04abc"]));
    let huge = [b"\0\0\xfe", &[0xff; 8][..]].concat();
    check_wrong(&packets(1, &[b"\x01", &definition, end, &huge]));
    check_wrong(&packets(1, &[b"\x01", &definition, end, b"row"]));
}

#[test]
fn replies_that_came_together_are_found_one_by_one() {
    let mut query = point_select(Flavour::MySql8);
    let one = result(Flavour::MySql8, &[STRING], true, &[b"\0\0\x03abc"]);
    let two = result(Flavour::MySql8, &[STRING], true, &[b"\0\0\x02de"]);
    let received = [one.clone(), two.clone()].concat();
    let Reply { bytes, .. } = query.reply(&received).unwrap().unwrap();
    assert_eq!(bytes, one.len());
    let Reply { bytes, data } = query.reply(&received[bytes..]).unwrap().unwrap();
    assert_eq!((bytes, &two[data]), (two.len(), &b"de"[..]));
}
