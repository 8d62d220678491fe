//! Tests of the measured commands: their bytes as `PyMongo`'s `bson` 4.20 writes them, and answers of every form.

use looptax_wire::mongodb::{FindOne, InsertOne, Ping};
use looptax_wire::{Codec, Reply, WireError};

use super::{answer, document, double, element, int, ok, text};

const PING: &[u8] =
    b"2\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\x1d\0\0\0\x10ping\0\x01\0\0\0\x02$db\0\x05\0\0\0shop\0\0";
const FIND: &[u8] = b"n\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0Y\0\0\0\x02find\0\x05\0\0\0docs\0\x03filter\0\x16\0\0\0\x07_id\0\0\0\0\0\0\0\0\0\0\0\0*\0\x10limit\0\x01\0\0\0\x08singleBatch\0\x01\x02$db\0\x05\0\0\0shop\0\0";
/// An insert whose id is twelve times the byte 0xfe.
const INSERT: &[u8] = b"m\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0X\0\0\0\x02insert\0\x05\0\0\0docs\0\x04documents\0)\0\0\0\x030\0!\0\0\0\x07_id\0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x02c\0\x04\0\0\0abc\0\0\0\x02$db\0\x05\0\0\0shop\0\0";
const ID_AT: usize = 69;

fn asked(codec: &mut dyn Codec, mut key: u64) -> Vec<u8> {
    let mut out = Vec::new();
    codec.request(&mut key, &mut out);
    out
}

#[test]
fn commands_are_those_of_a_driver() {
    assert_eq!(asked(&mut Ping::new("shop"), 1), PING);
    let mut find = FindOne::new("shop", "docs");
    assert_eq!(asked(&mut find, 42), FIND);
    let second = asked(&mut find, 42);
    assert_eq!((second[4], &second[5..]), (2, &FIND[5..]));
}

#[test]
fn every_inserted_document_has_an_id_of_its_own() {
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut insert = InsertOne::new("shop", "docs", "abc").expect("random bytes");
        for number in 1..=3 {
            let mut bytes = asked(&mut insert, 7);
            ids.push(bytes[ID_AT..ID_AT + 12].to_vec());
            assert_eq!(bytes[4], number);
            bytes[4] = 1;
            bytes[ID_AT..ID_AT + 12].fill(0xfe);
            assert_eq!(bytes, INSERT);
        }
    }
    assert!(ids.iter().all(|id| id[0] >= 0x80), "never that of a key");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

fn found(documents: &[Vec<u8>]) -> Vec<u8> {
    let places = ["0", "1"].iter().zip(documents);
    let batch: Vec<Vec<u8>> = places.map(|(place, it)| element(0x03, place, it)).collect();
    let cursor = document(&[
        element(0x04, "firstBatch", &document(&batch)),
        element(0x12, "id", &[0; 8]),
        text("ns", "shop.docs"),
    ]);
    answer(1, &[element(0x03, "cursor", &cursor), ok()])
}

/// Checks that no prefix of `bytes` is an answer, and that all of `bytes` is an answer with this data.
#[track_caller]
fn check_whole(codec: &mut dyn Codec, bytes: &[u8], data: &[u8]) {
    asked(codec, 1);
    for n in 0..bytes.len() {
        assert_eq!(codec.reply(&bytes[..n]).expect("a beginning"), None, "{n} bytes");
    }
    let more = [bytes, b"more"].concat();
    let Ok(Some(Reply { bytes: n, data: at })) = codec.reply(&more) else {
        panic!("a whole answer");
    };
    assert_eq!((n, &more[at]), (bytes.len(), data));
}

#[test]
fn answers_are_found_however_they_come() {
    check_whole(&mut Ping::new("shop"), &answer(1, &[ok()]), b"");
    let with_time = answer(1, &[ok(), element(0x11, "operationTime", &[1; 8])]);
    check_whole(&mut Ping::new("shop"), &with_time, b"");
    let one = document(&[element(0x07, "_id", &[1; 12]), text("c", "abc")]);
    check_whole(&mut FindOne::new("shop", "docs"), &found(std::slice::from_ref(&one)), &one);
    check_whole(&mut FindOne::new("shop", "docs"), &found(&[]), b"");
    let mut insert = InsertOne::new("shop", "docs", "abc").expect("random bytes");
    check_whole(&mut insert, &answer(1, &[int("n", 1), ok()]), b"");
}

#[track_caller]
fn check_refused(codec: &mut dyn Codec, bytes: &[u8], wanted: &str) {
    asked(codec, 1);
    let fault = codec.reply(bytes).expect_err("no answer");
    assert!(fault.to_string().contains(wanted), "{fault}");
}

fn refusal(code: i32, message: &str) -> Vec<Vec<u8>> {
    vec![double("ok", 0.0), text("errmsg", message), int("code", code)]
}

#[test]
fn what_is_refused_has_its_number_and_words() {
    let mut ping = Ping::new("shop");
    let denied = answer(1, &refusal(13, "not authorized\u{1b}[2J"));
    check_refused(&mut ping, &denied, "the server reports: not authorized\\x1b[2J (code 13)");
    let mut insert = InsertOne::new("shop", "docs", "abc").expect("random bytes");
    let double_key = document(&[int("index", 0), int("code", 11_000), text("errmsg", "E11000 duplicate key")]);
    let errors = document(&[element(0x03, "0", &double_key)]);
    let refused = answer(1, &[int("n", 0), element(0x04, "writeErrors", &errors), ok()]);
    check_refused(&mut insert, &refused, "E11000 duplicate key (code 11000)");
}

#[test]
fn what_is_no_answer_to_ours_is_named() {
    let mut ping = Ping::new("shop");
    let ours = "expected an OP_MSG that answers ours";
    check_refused(&mut ping, &answer(9, &[ok()]), ours);
    check_refused(&mut ping, b"HTTP/1.0 200 OK\r\n", ours);
    check_refused(&mut ping, b"-ERR unknown command\r\n", ours);
    let empty = answer(1, &[]);
    check_refused(&mut Ping::new("shop"), &empty, "a document with the requested fields");
    check_refused(&mut FindOne::new("shop", "docs"), &answer(1, &[ok()]), "the requested fields");
    let mut insert = InsertOne::new("shop", "docs", "abc").expect("random bytes");
    check_refused(&mut insert, &answer(1, &[int("n", 0), ok()]), "the requested fields");
    let mut long = answer(1, &[ok()]);
    long[..4].copy_from_slice(&(17_u32 << 20).to_le_bytes());
    let mut ping = Ping::new("shop");
    asked(&mut ping, 1);
    let fault = ping.reply(&long).expect_err("too long");
    assert!(matches!(fault, WireError::TooLong { .. }), "{fault}");
}
