//! The echo protocol as seen from outside: greetings of both ends, keys in order, wrong peers.
//!
//! No sockets: the peer is a recording.

use std::time::Duration;

use looptax_testkit::replay::{End, Replay};
use looptax_wire::echo::{Connection, EchoCodec, Hello, Welcome};
use looptax_wire::{Codec, Reply, WireError};

const LIMIT: Duration = Duration::from_secs(1);
const HELLO: Hello = Hello {
    request_bytes: 16,
    reply_bytes: 12,
};
const WELCOME: Welcome = Welcome { pid: 77, tid: 78 };

#[test]
fn greets_with_its_sizes_and_learns_who_serves_it() {
    let mut peer = Replay::new(WELCOME.encode(), End::Silent).in_pieces(1);
    let connection = Connection::login(&mut peer, HELLO, LIMIT).expect("a whole greeting");
    assert_eq!(connection.server_pid(), 77);
    assert_eq!(connection.connection_id(), 78);
    assert_eq!(connection.into_stream().sent(), b"LTE1\x10\0\0\0\x0c\0\0\0");
}

#[track_caller]
fn check_hello(request_bytes: u32, reply_bytes: u32, is_accepted: bool) {
    let hello = Hello {
        request_bytes,
        reply_bytes,
    };
    let decoded = Hello::decode(hello.encode());
    let mut peer = Replay::new(WELCOME.encode(), End::Closed);
    let login = Connection::login(&mut peer, hello, LIMIT);
    assert_eq!(login.is_ok(), is_accepted, "{hello:?}");
    match decoded {
        Ok(found) => assert!(is_accepted && found == hello, "{hello:?}"),
        Err(fault) => assert!(!is_accepted, "{hello:?}: {fault}"),
    }
}

#[test]
fn both_ends_hold_the_sizes_within_bounds() {
    check_hello(8, 8, true);
    check_hello(1 << 20, 1 << 20, true);
    check_hello(7, 8, false);
    check_hello(8, 7, false);
    check_hello((1 << 20) + 1, 8, false);
    check_hello(8, u32::MAX, false);
    check_hello(0, 0, false);
}

#[track_caller]
fn check_refused(answer: &[u8], end: End, wanted: &str) {
    let fault = Connection::login(&mut Replay::new(answer, end), HELLO, LIMIT)
        .expect_err("this is no whole greeting");
    assert_eq!(fault.to_string(), wanted);
}

#[test]
fn refuses_other_servers() {
    let wrong = "not a echo answer (tried to read a greeting): \
                 expected the greeting `LTE1`, found ";
    check_refused(
        b"-ERR unknown command",
        End::Silent,
        &format!("{wrong}-ERR"),
    );
    check_refused(b"HTTP/1.1 400 Bad", End::Silent, &format!("{wrong}HTTP"));
    check_refused(b"J\0\0\0", End::Silent, &format!("{wrong}J\\x00\\x00\\x00"));
}

#[test]
fn a_cut_greeting_is_closed_or_a_timeout() {
    let whole = WELCOME.encode();
    for n_bytes in 0..whole.len() {
        check_refused(
            &whole[..n_bytes],
            End::Closed,
            "the server closed the connection (tried to read a greeting)",
        );
        check_refused(
            &whole[..n_bytes],
            End::Silent,
            "no answer within 1s (tried to read a greeting)",
        );
    }
}

#[test]
fn replies_belong_to_requests_in_order() {
    let mut codec = EchoCodec::new(HELLO);
    let mut out = b"before".to_vec();
    codec.request(&mut 0x0102_u64, &mut out);
    codec.request(&mut 3_u64, &mut out);
    assert_eq!(out.len(), 6 + 2 * 16);
    assert_eq!(&out[6..22], b"\x02\x01\0\0\0\0\0\0xxxxxxxx");

    let both = b"\x02\x01\0\0\0\0\0\0....\x03\0\0\0\0\0\0\0....";
    for n_bytes in 0..12 {
        let found = codec.reply(&both[..n_bytes]).expect("a part of the reply");
        assert_eq!(found, None, "{n_bytes}");
    }
    let wanted = Reply {
        bytes: 12,
        data: 0..8,
    };
    let first = codec.reply(both).expect("the first reply");
    assert_eq!(first, Some(wanted.clone()));
    let second = codec.reply(&both[12..]).expect("the second reply");
    assert_eq!(second, Some(wanted));
    let third = codec.reply(&both[12..]);
    assert!(
        matches!(third, Err(WireError::Malformed { .. })),
        "nothing is in flight: {third:?}"
    );
}

#[test]
fn a_key_out_of_order_is_an_error() {
    let mut codec = EchoCodec::new(HELLO);
    let mut out = Vec::new();
    codec.request(&mut 1_u64, &mut out);
    codec.request(&mut 2_u64, &mut out);
    let found = codec.reply(b"\x02\0\0\0\0\0\0\0....");
    assert!(
        matches!(found, Err(WireError::Malformed { .. })),
        "{found:?}"
    );
}
