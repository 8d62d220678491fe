//! Tests of the measured commands: the bytes sent for a key, and the position of the value in a reply.

use looptax_wire::redis::{Get, Ping, Set};
use looptax_wire::{Codec, Reply};

#[track_caller]
fn check_request(codec: &mut impl Codec, key: u64, wanted: &str) {
    let mut out = b"before".to_vec();
    codec.request(&mut { key }, &mut out);
    assert_eq!(String::from_utf8_lossy(&out), format!("before{wanted}"));
}

#[test]
fn writes_keys_of_twelve_digits() {
    let get = |digits| format!("*2\r\n$3\r\nGET\r\n$14\r\np:{digits}\r\n");
    check_request(&mut Get::new("p:"), 42, &get("000000000042"));
    check_request(&mut Get::new("p:"), 999_999_999_999, &get("999999999999"));
    check_request(&mut Get::new("p:"), 1_000_000_000_007, &get("000000000007"));
    check_request(&mut Set::new("", 3, None), 1, "*3\r\n$3\r\nSET\r\n$12\r\n000000000001\r\n$3\r\nxxx\r\n");
    check_request(&mut Set::new("a", 0, None), 1, "*3\r\n$3\r\nSET\r\n$13\r\na000000000001\r\n$0\r\n\r\n");
    check_request(&mut Ping::new(), 1, "*1\r\n$4\r\nPING\r\n");
}

/// Checks the data of `reply`, which must be `wanted`.
#[track_caller]
fn check_reply(codec: &mut impl Codec, reply: &str, wanted: &str) {
    let followed = format!("{reply}{reply}");
    let found = codec.reply(followed.as_bytes()).expect("a good reply");
    let Reply { bytes, data } = found.expect("a whole reply");
    assert_eq!(bytes, reply.len());
    assert_eq!(&followed[data], wanted);
    for n_bytes in 0..reply.len() {
        let found = codec.reply(&reply.as_bytes()[..n_bytes]).expect("a part");
        assert_eq!(found, None, "{n_bytes} bytes of {reply:?}");
    }
}

#[test]
fn finds_the_bounds_of_a_reply() {
    check_reply(&mut Get::new(""), "$5\r\nhe\r\no\r\n", "he\r\no");
    check_reply(&mut Get::new(""), "$0\r\n\r\n", "");
    check_reply(&mut Get::new(""), "$-1\r\n", "");
    check_reply(&mut Set::new("", 1, None), "+OK\r\n", "");
    check_reply(&mut Ping::default(), "+PONG\r\n", "");
}

#[track_caller]
fn check_bad_reply(codec: &mut impl Codec, reply: &str, wanted: &str) {
    let fault = codec.reply(reply.as_bytes()).expect_err("a bad reply");
    assert!(fault.to_string().contains(wanted), "{fault}");
}

#[test]
fn a_measured_command_takes_no_other_reply() {
    let get = &mut Get::new("");
    check_bad_reply(get, "-LOADING wait\r\n", "the server reports: wait (code LOADING)");
    check_bad_reply(get, "+OK\r\n", "expected a string or nil, found +OK");
    check_bad_reply(get, "$16777217\r\n", "announced 16777217 bytes");
    check_bad_reply(get, "$9999999999999999999\r\n", "announced 9999999999999999999 bytes");
    check_bad_reply(get, "$99999999999999999999\r\n", "the length of a string");
    check_bad_reply(get, "$\r\n", "the length of a string");
    check_bad_reply(get, "$1x\r\n", "the length of a string");
    check_bad_reply(get, "$1\rx", "the length of a string");
    check_bad_reply(get, "$1\r\nabc", "a line end after a string");
    check_bad_reply(&mut Set::new("", 1, None), "+QUEUED\r\n", "expected `OK`, found +QUEUED");
    check_bad_reply(&mut Set::new("", 1, None), "-READONLY no\r\n", "(code READONLY)");
    check_bad_reply(&mut Ping::new(), "HTTP", "expected `PONG`, found HTTP");
    check_bad_reply(&mut Ping::new(), &format!("-{}", "a".repeat(70_000)), "a line of at most 64 KiB");
    assert_eq!(Ping::new().reply(b"-ERR").expect("half an error"), None);
}
