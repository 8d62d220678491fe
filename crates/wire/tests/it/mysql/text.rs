//! Tests of text queries: rows, counts, errors, limits.

use looptax_wire::WireError;

use super::scripted::{Flavour, connected, packet, packets, result};

const STRING: u8 = 0xfd;

#[test]
fn reads_rows_in_every_dialect() {
    for flavour in Flavour::ALL {
        let answer = result(flavour, &[STRING, STRING], true, &[b"\x011\xfb", b"\x00\x02ab"]);
        let rows = connected(flavour, &answer).query("SELECT 1").unwrap();
        let text = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(rows, [vec![text("1"), None], vec![text(""), text("ab")]], "{flavour:?}");
    }
}

#[test]
fn a_result_without_rows_is_empty() {
    for flavour in Flavour::ALL {
        let answer = result(flavour, &[STRING], true, &[]);
        let two = [answer.clone(), answer].concat();
        let mut connection = connected(flavour, &two);
        assert_eq!(connection.query("SELECT 1").unwrap().len(), 0);
        assert_eq!(connection.execute("SELECT 1").unwrap(), 0);
    }
}

#[test]
fn counts_affected_rows() {
    let answer = packet(1, &[0, 0xfc, 0x2c, 0x01, 0, 2, 0, 0, 0]);
    let affected = connected(Flavour::MariaDb, &answer).execute("DELETE FROM t");
    assert_eq!(affected.unwrap(), 300);
}

#[test]
fn an_error_leaves_the_connection_usable() {
    let refusal = packet(1, b"\xff\x7a\x04#42S02Table 't' doesn't exist");
    let answers = [refusal, packet(1, &[0, 1, 0, 2, 0, 0, 0])].concat();
    let mut connection = connected(Flavour::MySql8, &answers);
    let fault = connection.query("SELECT * FROM t").unwrap_err();
    assert_eq!(fault.to_string(), "the server reports: Table 't' doesn't exist (code 1146)");
    assert_eq!(connection.execute("DO 1").unwrap(), 1);
}

#[test]
fn gives_no_file_to_a_server_that_asks_for_one() {
    let answers = [packet(1, b"\xfb/etc/passwd"), packet(3, &[0, 0, 0, 2, 0, 0, 0])].concat();
    let mut connection = connected(Flavour::MySql8, &answers);
    let fault = connection.query("SELECT 1").unwrap_err();
    assert!(matches!(fault, WireError::Unsupported { .. }), "{fault:?}");
    let heard = connection.into_stream().heard();
    let heard = heard.borrow();
    assert!(heard.ends_with(b"\x09\0\0\0\x03SELECT 1\0\0\0\x02"), "{heard:?}");
}

#[test]
fn nulls_count_by_the_memory_that_they_take() {
    // 200 columns of NULL have 200 bytes in the protocol and more than 4 KiB as cells.
    let row = vec![0xfb; 200];
    let rows: Vec<&[u8]> = vec![&row; 5000];
    let head = result(Flavour::MySql56, &[STRING; 200], true, &[]);
    let head = &head[..head.len() - 9];
    let sequence_of_rows = 203_u8;
    let body: Vec<u8> = rows
        .iter()
        .enumerate()
        .flat_map(|(row_idx, row)| packet(sequence_of_rows.wrapping_add(row_idx as u8), row))
        .collect();
    let mut connection = connected(Flavour::MySql56, &[head, &body].concat());
    let fault = connection.query("SELECT * FROM t").unwrap_err();
    assert!(matches!(fault, WireError::TooLong { limit: 0x0100_0000, .. }), "{fault:?}");
}

#[track_caller]
fn check_wrong(flavour: Flavour, payloads: &[&[u8]]) {
    let fault = connected(flavour, &packets(1, payloads)).query("SELECT 1").expect_err("a fault");
    assert!(matches!(fault, WireError::Malformed { .. }), "{fault:?}");
}

#[test]
fn refuses_answers_that_are_none() {
    check_wrong(Flavour::MySql56, &[b""]);
    check_wrong(Flavour::MySql56, &[b"\xfc\x01"]);
    check_wrong(Flavour::MySql56, &[b"\xfc\x01\x10"]);
    check_wrong(Flavour::MySql56, &[b"\x00\xfe"]);
    check_wrong(Flavour::MySql56, &[b"\x01", b"def", b"no end"]);
    check_wrong(Flavour::MySql56, &[b"\x01", b"def", b"\xfe\0\0\0\0", b"\x05four"]);
    check_wrong(Flavour::MariaDb, &[b"\x01"]);
    check_wrong(Flavour::MariaDb, &[b"\x01\x02"]);
}
