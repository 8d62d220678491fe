//! Tests of PostgreSQL's protocol from outside. This file makes the messages that the tests use.
//!
//! The peer is a recording, except for SCRAM, where the server has to compute its answers.

mod copy_in;
mod login;
pub(crate) mod prepared;
mod scram;
mod statements;

use std::time::Duration;

use looptax_model::dsn::Secret;
use looptax_testkit::replay::{End, Replay};
use looptax_wire::Login;
use looptax_wire::postgres::Connection;

const LIMIT: Duration = Duration::from_secs(1);

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a small message");
    [&[tag], length.to_be_bytes().as_slice(), body].concat()
}

fn authentication(kind: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[kind.to_be_bytes().as_slice(), rest].concat())
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn notice() -> Vec<u8> {
    message(b'N', b"SNOTICE\0C00000\0Mhello\0\0")
}

/// Returns one of each message that may arrive at any time after the session has begun.
fn notices() -> Vec<u8> {
    let status = message(b'S', b"TimeZone\0UTC\0");
    let notification = message(b'A', b"\0\0\0\x01channel\0payload\0");
    [notice(), status, notification].concat()
}

fn error(code: &str, text: &str) -> Vec<u8> {
    message(b'E', format!("SFATAL\0C{code}\0M{text}\0\0").as_bytes())
}

/// Returns `AuthenticationOk` and the messages that follow it.
fn session() -> Vec<u8> {
    [
        authentication(0, b""),
        message(b'S', b"server_version\x0015.14 (Debian)\0"),
        message(b'S', b"client_encoding\0UTF8\0"),
        message(b'K', b"\0\0\x12\x34\0\0\0\x01"),
        ready(),
    ]
    .concat()
}

fn login(user: &str, password: &str) -> Login {
    Login { user: user.to_owned(), password: Secret::new(password), ..Login::default() }
}

/// Logs in by trust; the peer then sends `answers`.
#[track_caller]
fn connect(answers: &[u8]) -> Connection<Replay> {
    let peer = Replay::new([&session(), answers].concat(), End::Closed).in_pieces(7);
    Connection::login(peer, &login("ann", ""), LIMIT).expect("a recorded log-in")
}

fn row_description() -> Vec<u8> {
    message(b'T', b"\0\x01c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0")
}

fn row(columns: &[Option<&str>]) -> Vec<u8> {
    let mut body = u16::try_from(columns.len()).expect("few").to_be_bytes().to_vec();
    for column in columns {
        match column {
            None => body.extend_from_slice(&[0xff; 4]),
            Some(text) => {
                body.extend_from_slice(&u32::try_from(text.len()).expect("short").to_be_bytes());
                body.extend_from_slice(text.as_bytes());
            }
        }
    }
    message(b'D', &body)
}

fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

/// Makes the answer to Parse, Describe and Sync, for parameters of these types.
fn description(oids: &[u32]) -> Vec<u8> {
    let mut body = u16::try_from(oids.len()).expect("few").to_be_bytes().to_vec();
    body.extend(oids.iter().flat_map(|oid| oid.to_be_bytes()));
    [message(b'1', b""), message(b't', &body), row_description(), ready()].concat()
}
