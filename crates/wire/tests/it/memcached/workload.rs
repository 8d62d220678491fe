//! Tests of the measured commands: the bytes sent for a key, and the position of the value in a reply.

use looptax_wire::memcached::{Get, Set};
use looptax_wire::{Codec, Mixed, Pipelined, Reply};

#[track_caller]
fn check_request(codec: &mut impl Codec, key: u64, wanted: &str) {
    let mut out = b"before".to_vec();
    codec.request(&mut { key }, &mut out);
    assert_eq!(String::from_utf8_lossy(&out), format!("before{wanted}"));
}

#[test]
fn writes_keys_of_twelve_digits() {
    check_request(&mut Get::new("p:"), 42, "get p:000000000042\r\n");
    check_request(&mut Get::new(""), 1_000_000_000_007, "get 000000000007\r\n");
    check_request(&mut Set::new("p:", 3, None), 1, "set p:000000000001 0 0 3\r\nxxx\r\n");
    check_request(&mut Set::new("", 0, Some(60)), 1, "set 000000000001 0 60 0\r\n\r\n");
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
    let get = &mut Get::new("p:");
    let value = "VALUE p:000000000042 0 5\r\nhe\r\no\r\nEND\r\n";
    check_reply(get, value, "he\r\no");
    check_reply(get, "VALUE p:000000000042 0 0\r\n\r\nEND\r\n", "");
    check_reply(get, "END\r\n", "");
    check_reply(&mut Set::new("p:", 1, None), "STORED\r\n", "");
}

#[track_caller]
fn check_bad_reply(codec: &mut impl Codec, reply: &str, wanted: &str) {
    let fault = codec.reply(reply.as_bytes()).expect_err("a bad reply");
    assert!(fault.to_string().contains(wanted), "{fault}");
}

#[test]
fn a_measured_command_takes_no_other_reply() {
    let get = &mut Get::new("p:");
    let at = "VALUE p:000000000042";
    check_bad_reply(get, "ERROR\r\n", "(code ERROR)");
    check_bad_reply(get, "SERVER_ERROR out of memory\r\n", "the server reports: out of memory (code SERVER_ERROR)");
    check_bad_reply(get, "STORED\r\n", "expected the value or `END`, found STORED");
    check_bad_reply(get, "VALUE q:000000000042 0 1\r\n", "the value or `END`");
    check_bad_reply(get, "VALUE p:00000000004x 0 1\r\n", "the requested value");
    check_bad_reply(get, &format!("{at} 7 1\r\n"), "flags 0");
    check_bad_reply(get, &format!("{at} 0 \r\n"), "the length of the requested value");
    check_bad_reply(get, &format!("{at} 0 -1\r\n"), "the length of the requested value");
    check_bad_reply(get, &format!("{at} 0 1\rx"), "the length of the requested value");
    check_bad_reply(get, &format!("{at} 0 9999999999"), "the length of the requested value");
    check_bad_reply(get, &format!("{at} 0 16777217\r\n"), "announced 16777217 bytes");
    check_bad_reply(get, &format!("{at} 0 1\r\nabcdefgh"), "`END` after a value");
    let set = &mut Set::new("p:", 1, None);
    check_bad_reply(set, "NOT_STORED\r\n", "expected `STORED`, found NOT_STORED");
    check_bad_reply(set, "HTTP", "expected `STORED`, found HTTP");
    check_bad_reply(set, &format!("SERVER_ERROR {}", "a".repeat(70_000)), "a line of at most 64 KiB");
    assert_eq!(set.reply(b"CLIENT_ERR").expect("half an error"), None);
}

#[test]
fn a_mixed_pipeline_is_answered_in_the_order_of_its_commands() {
    let mixed = Mixed::new(Get::new("p:"), Set::new("p:", 1, None), [1, 1]);
    let mut batch = Pipelined::new(mixed, 2, 0);
    let mut sent = Vec::new();
    // The highest random number chooses a write, with a key that is longer than twelve digits.
    batch.request(&mut { u64::MAX }, &mut sent);
    assert!(sent.starts_with(b"set p:"));
    let found = batch.reply(b"STORED\r\nSTORED\r\n").expect("two replies");
    assert_eq!(found.map(|reply| reply.bytes), Some(16));
    batch.request(&mut 0_u64, &mut sent);
    let found = batch.reply(b"END\r\nEND\r\n").expect("two misses");
    assert_eq!(found.map(|reply| reply.bytes), Some(10));
}
