//! Tests with peers that stop, send false data or use another protocol. The result is always an error, never a panic or
//! an endless wait.

use std::os::unix::net::UnixStream;

use looptax_wire::mysql::Connection;
use looptax_wire::{Channel, Codec, WireError};

use super::scripted::{
    End, Flavour, LIMIT, OK, Scripted, greeting, let_in, log_in, packet, prepared, result, somebody,
};

const STRING: u8 = 0xfd;

/// Runs a whole conversation: login, query, prepare.
fn converse(stream: Scripted) -> Result<(), WireError> {
    let mut connection = Connection::login(stream, &somebody("secret"), Channel::Local, LIMIT)?;
    connection.query("SELECT 1")?;
    connection.prepare("SELECT c FROM sbtest1 WHERE id = ?")?;
    Ok(())
}

fn conversation(flavour: Flavour) -> Vec<u8> {
    [
        packet(0, &greeting(flavour, "caching_sha2_password")),
        packet(2, &[1, 4]),
        packet(4, OK),
        result(flavour, &[STRING], true, &[b"\x011"]),
        prepared(flavour, 1, &[STRING]),
    ]
    .concat()
}

#[test]
fn a_conversation_cut_at_any_byte_is_closed_or_timed_out() {
    for flavour in Flavour::ALL {
        let whole = conversation(flavour);
        converse(Scripted::new(&whole, End::Close)).unwrap();
        for n_bytes in 0..whole.len() {
            let fault = converse(Scripted::new(&whole[..n_bytes], End::Close)).unwrap_err();
            assert!(matches!(fault, WireError::Closed { .. }), "{n_bytes}: {fault:?}");
            let fault = converse(Scripted::new(&whole[..n_bytes], End::Silence)).unwrap_err();
            let is_timeout = matches!(fault, WireError::Timeout { after, .. } if after == LIMIT);
            assert!(is_timeout, "{n_bytes}: {fault:?}");
        }
    }
}

#[test]
fn a_real_socket_that_stays_silent_times_out() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(LIMIT)).unwrap();
    let fault = Connection::login(ours, &somebody(""), Channel::Local, LIMIT).unwrap_err();
    assert_eq!(fault.to_string(), "no answer within 200ms (tried to read the greeting)");
    drop(theirs);
}

/// Returns a generator of random numbers below a given number, by xorshift64 (Marsaglia 2003).
fn below(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |limit| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    }
}

/// Changes bytes in otherwise correct conversations and replies, 20,000 times with a fixed seed. Any outcome is allowed
/// except a panic.
#[test]
fn survives_changed_bytes_anywhere() {
    let mut random = below(0x9e37_79b9_7f4a_7c15);
    let mut n_refused = 0;
    for round in 0..20_000 {
        let flavour = Flavour::ALL[round % 3];
        let mut bytes = conversation(flavour);
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            bytes[at] = random(256) as u8;
        }
        n_refused += usize::from(converse(Scripted::new(&bytes, End::Close)).is_err());
    }
    assert!(n_refused > 5000, "the changes must matter: {n_refused}");
}

#[test]
fn survives_changed_bytes_in_replies() {
    let mut random = below(0x2545_f491_4f6c_dd1d);
    for round in 0..20_000 {
        let flavour = Flavour::ALL[round % 3];
        let sent = [let_in(flavour), prepared(flavour, 1, &[STRING])].concat();
        let (connection, _) = log_in(&sent, "", Channel::Local);
        let mut query = connection.unwrap().prepare("SELECT ?").unwrap();
        let mut bytes = result(flavour, &[STRING, 8], true, &[b"\0\0\x03abc12345678", b"\0\x0c"]);
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            bytes[at] = random(256) as u8;
        }
        let half = random(bytes.len());
        for received in [&bytes[..half], &bytes] {
            if let Ok(Some(reply)) = query.reply(received) {
                assert!(reply.bytes <= received.len());
                assert!(received.get(reply.data).is_some());
                break;
            }
        }
    }
}

#[track_caller]
fn check_greeting(sent: &[u8], wanted: &str) {
    let (outcome, heard) = log_in(sent, "secret", Channel::PlainTcp);
    assert_eq!(outcome.expect_err("a stranger").to_string(), wanted);
    assert!(heard.borrow().is_empty(), "we said something to a stranger");
}

#[test]
fn names_what_else_a_greeting_may_be() {
    check_greeting(
        &packet(0, b"\xff\x10\x04Too many connections"),
        "the server reports: Too many connections (code 1040)",
    );
    check_greeting(
        &packet(0, b"\xff\x69\x04#HY000Host 'x' is blocked"),
        "the server reports: Host 'x' is blocked (code 1129)",
    );
    let banner = "not a MySQL answer (tried to read the greeting): expected a MySQL greeting, found";
    check_greeting(b"-ERR unknown command\r\n", &format!("{banner} `-ERR`"));
    check_greeting(b"HTTP/1.1 400 Bad Request\r\n", &format!("{banner} `HTTP`"));
    check_greeting(b"E\0\0\0\x8fSFATAL\0", "the server closed the connection (tried to read the greeting)");
    check_greeting(b"R\0\0\x08\0\0\0\0", &format!("{banner} `R\\x00\\x00\\x08`"));
    check_greeting(
        // The notice of MySQL's X Protocol.
        b"\x05\0\0\0\x0b\x08\x05\x1a\0",
        &format!(
            "{banner_10} `\\x0b\\x08\\x05\\x1a\\x00`",
            banner_10 = banner.replace("a MySQL greeting,", "a MySQL greeting of version 10,")
        ),
    );
    check_greeting(
        b"\xff\xff\xff\0",
        "the server announced 16777215 bytes (tried to read the greeting); at most 65536 are accepted",
    );
}

#[test]
fn refuses_salts_whose_length_lies() {
    let whole = greeting(Flavour::MySql8, "caching_sha2_password");
    let salt_length_at = 1 + "8.4.3\0".len() + 20;
    assert_eq!(whole[salt_length_at], 21);
    for n_bytes in [100, 127, 128, 135, 255] {
        let mut lying = whole.clone();
        lying[salt_length_at] = n_bytes;
        let (outcome, _) = log_in(&packet(0, &lying), "secret", Channel::Local);
        let fault = outcome.unwrap_err();
        assert!(matches!(fault, WireError::Malformed { .. }), "{n_bytes}: {fault:?}");
    }
}

#[test]
fn refuses_a_server_from_before_version_4_1() {
    let mut old = greeting(Flavour::MySql8, "mysql_native_password");
    let flags_at = 1 + "8.4.3\0".len() + 13;
    old[flags_at..flags_at + 2].fill(0);
    let (outcome, heard) = log_in(&packet(0, &old), "secret", Channel::Local);
    let fault = outcome.unwrap_err();
    assert!(matches!(fault, WireError::Unsupported { .. }), "{fault:?}");
    assert!(heard.borrow().is_empty());
}

#[test]
fn a_login_without_end_is_ended() {
    let mut sent = packet(0, &greeting(Flavour::MySql8, "mysql_native_password"));
    for round in 0..100 {
        let switch = b"\xfemysql_native_password\0abcdefghijklmnopqrst\0";
        sent.extend(packet(2 + 2 * round, switch));
    }
    let (outcome, _) = log_in(&sent, "secret", Channel::Local);
    let fault = outcome.unwrap_err();
    assert!(matches!(fault, WireError::Malformed { .. }), "{fault:?}");
}

#[test]
fn a_key_that_is_none_is_refused_before_the_password_goes_out() {
    for key in [&b"\x01"[..], b"\x01x", b"\x01-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----"] {
        let sent = [packet(0, &greeting(Flavour::MySql8, "caching_sha2_password")), packet(2, &[1, 4]), packet(4, key)]
            .concat();
        let (outcome, heard) = log_in(&sent, "secret", Channel::PlainTcp);
        let fault = outcome.unwrap_err();
        assert!(matches!(fault, WireError::Malformed { .. }), "{fault:?}");
        assert!(heard.borrow().ends_with(b"\x01\0\0\x03\x02"));
    }
}
