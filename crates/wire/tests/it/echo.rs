//! Tests of the echo protocol from outside: greetings of both ends, keys in order, peers of another kind.
//!
//! The tests use no sockets: the peer is a recording.

use std::time::Duration;

use looptax_testkit::replay::{End, Replay};
use looptax_wire::echo::{Connection, EchoCodec, Hello, Traffic, Welcome};
use looptax_wire::{Codec, Reply, WireError};

const LIMIT: Duration = Duration::from_secs(1);
const HELLO: Hello = Hello { traffic: Traffic::PingPong { request_bytes: 16, reply_bytes: 12 }, is_nodelay: true };
const WELCOME: Welcome = Welcome { pid: 77, tid: 78 };

#[test]
fn greets_with_its_sizes_and_learns_who_serves_it() {
    let mut peer = Replay::new(WELCOME.encode(), End::Silent).in_pieces(1);
    let connection = Connection::login(&mut peer, HELLO, LIMIT).expect("a whole greeting");
    assert_eq!(connection.server_pid(), 77);
    assert_eq!(connection.connection_id(), 78);
    let sent = b"LTE2\0\0\0\0\x10\0\0\0\x0c\0\0\0";
    assert_eq!(connection.into_stream().sent(), sent);
}

#[track_caller]
fn check_hello(traffic: Traffic, is_accepted: bool) {
    for is_nodelay in [true, false] {
        let hello = Hello { traffic, is_nodelay };
        let decoded = Hello::decode(hello.encode());
        let mut peer = Replay::new(WELCOME.encode(), End::Closed);
        let login = Connection::login(&mut peer, hello, LIMIT);
        assert_eq!(login.is_ok(), is_accepted, "{hello:?}");
        match decoded {
            Ok(found) => assert!(is_accepted && found == hello, "{hello:?}"),
            Err(fault) => assert!(!is_accepted, "{hello:?}: {fault}"),
        }
    }
}

#[track_caller]
fn check_sizes(request_bytes: u32, reply_bytes: u32, is_accepted: bool) {
    let traffic = Traffic::PingPong { request_bytes, reply_bytes };
    check_hello(traffic, is_accepted);
}

#[test]
fn both_ends_hold_the_sizes_within_bounds() {
    check_sizes(8, 8, true);
    check_sizes(1 << 20, 1 << 20, true);
    check_sizes(7, 8, false);
    check_sizes(8, 7, false);
    check_sizes((1 << 20) + 1, 8, false);
    check_sizes(8, u32::MAX, false);
    check_sizes(0, 0, false);
    check_hello(Traffic::Stream { bytes: 8 }, true);
    check_hello(Traffic::Stream { bytes: 1 << 32 }, true);
    check_hello(Traffic::Stream { bytes: 7 }, false);
    check_hello(Traffic::Stream { bytes: (1 << 32) + 1 }, false);
}

#[track_caller]
fn check_refused(answer: &[u8], end: End, wanted: &str) {
    let fault = Connection::login(&mut Replay::new(answer, end), HELLO, LIMIT).expect_err("this is no whole greeting");
    assert_eq!(fault.to_string(), wanted);
}

#[test]
fn refuses_other_servers() {
    let wrong = "not a echo answer (tried to read a greeting): expected the greeting `LTE2`, found ";
    check_refused(b"-ERR unknown command", End::Silent, &format!("{wrong}-ERR"));
    check_refused(b"HTTP/1.1 400 Bad", End::Silent, &format!("{wrong}HTTP"));
    check_refused(b"J\0\0\0", End::Silent, &format!("{wrong}J\\x00\\x00\\x00"));
}

#[test]
fn a_cut_greeting_is_closed_or_a_timeout() {
    let whole = WELCOME.encode();
    for n_bytes in 0..whole.len() {
        check_refused(&whole[..n_bytes], End::Closed, "the server closed the connection (tried to read a greeting)");
        check_refused(&whole[..n_bytes], End::Silent, "no answer within 1s (tried to read a greeting)");
    }
}

#[test]
fn replies_belong_to_requests_in_order() {
    let mut codec = EchoCodec::ping_pong(16, 12);
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
    let wanted = Reply { bytes: 12, data: 0..8 };
    let first = codec.reply(both).expect("the first reply");
    assert_eq!(first, Some(wanted.clone()));
    let second = codec.reply(&both[12..]).expect("the second reply");
    assert_eq!(second, Some(wanted));
    let third = codec.reply(&both[12..]);
    assert!(matches!(third, Err(WireError::Malformed { .. })), "nothing is in flight: {third:?}");
}

#[test]
fn a_key_out_of_order_is_an_error() {
    let mut codec = EchoCodec::ping_pong(16, 12);
    let mut out = Vec::new();
    codec.request(&mut 1_u64, &mut out);
    codec.request(&mut 2_u64, &mut out);
    let found = codec.reply(b"\x02\0\0\0\0\0\0\0....");
    assert!(matches!(found, Err(WireError::Malformed { .. })), "{found:?}");
}

#[test]
fn a_stream_is_a_write_that_is_repeated_and_a_key_that_comes_back() {
    let mut codec = EchoCodec::stream(100, 24);
    assert_eq!(codec.stream_bytes(), Some(100));
    let mut out = Vec::new();
    codec.request(&mut 7_u64, &mut out);
    assert_eq!(out.len(), 24);
    let reply = codec.reply(b"\x07\0\0\0\0\0\0\0").expect("the key");
    assert_eq!(reply.map(|it| it.bytes), Some(8));
    assert_eq!(EchoCodec::ping_pong(24, 8).stream_bytes(), None);
}

#[test]
fn an_exchange_holds_the_answer_against_its_key() {
    let answers = |key: u8| {
        let mut bytes = WELCOME.encode().to_vec();
        bytes.extend([key, 0, 0, 0, 0, 0, 0, 0, b'.', b'.', b'.', b'.']);
        bytes
    };
    let exchange = |key| {
        let peer = Replay::new(answers(key), End::Closed);
        Connection::login(peer, HELLO, LIMIT).unwrap().exchange()
    };
    exchange(1).expect("the key that was sent");
    assert!(matches!(exchange(2), Err(WireError::Malformed { .. })));
}
