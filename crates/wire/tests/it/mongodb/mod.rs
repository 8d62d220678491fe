//! Tests of `MongoDB`'s protocol from outside: sessions, measured commands, and peers that send anything.
//!
//! The tests make their documents byte by byte, so that the bytes do not come from the code under test.

mod hostile;
mod scram;
mod session;
mod workload;

use std::time::Duration;

use looptax_wire::Login;

const LIMIT: Duration = Duration::from_secs(1);

fn document(elements: &[Vec<u8>]) -> Vec<u8> {
    let body = elements.concat();
    let n_bytes = (body.len() + 5) as u32;
    [&n_bytes.to_le_bytes()[..], &body, &[0]].concat()
}

fn element(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind][..], name.as_bytes(), &[0], value].concat()
}

fn double(name: &str, value: f64) -> Vec<u8> {
    element(0x01, name, &value.to_le_bytes())
}

fn int(name: &str, value: i32) -> Vec<u8> {
    element(0x10, name, &value.to_le_bytes())
}

fn text(name: &str, value: &str) -> Vec<u8> {
    let n_bytes = (value.len() + 1) as u32;
    let value = [&n_bytes.to_le_bytes()[..], value.as_bytes(), &[0]].concat();
    element(0x02, name, &value)
}

fn binary(name: &str, value: &[u8]) -> Vec<u8> {
    let n_bytes = value.len() as u32;
    element(0x05, name, &[&n_bytes.to_le_bytes()[..], &[0], value].concat())
}

fn ok() -> Vec<u8> {
    double("ok", 1.0)
}

/// Makes the message that answers the message with this number.
fn answer(number: i32, elements: &[Vec<u8>]) -> Vec<u8> {
    let document = document(elements);
    let n_bytes = (21 + document.len()) as u32;
    let mut bytes = n_bytes.to_le_bytes().to_vec();
    for part in [77, number, 2013, 0] {
        bytes.extend(part.to_le_bytes());
    }
    bytes.push(0);
    bytes.extend(document);
    bytes
}

/// Makes a server's answers to the three questions of a client without an account.
fn greeting() -> Vec<u8> {
    [
        answer(1, &[int("maxWireVersion", 21), ok()]),
        answer(2, &[text("version", "7.0.42"), text("ferretdbVersion", "v1.24.2"), ok()]),
        answer(3, &[text("you", "127.0.0.1:40000"), ok()]),
    ]
    .concat()
}

fn nobody() -> Login {
    Login { database: Some("shop".to_owned()), ..Login::default() }
}
