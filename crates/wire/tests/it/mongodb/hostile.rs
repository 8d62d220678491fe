//! Tests with peers that send bytes they should not send. The result is an answer or an error, never a panic, and
//! looptax uses no more memory than the peer sent bytes.

use looptax_testkit::replay::{End, Replay};
use looptax_wire::Codec;
use looptax_wire::mongodb::{Connection, FindOne, InsertOne, Ping};

use super::{LIMIT, answer, document, element, greeting, int, nobody, ok, text};
use crate::site::{N_HOSTILE, below, feed, spoilt};

fn right(kind: usize, number: i32, n_bytes: usize) -> Vec<u8> {
    let found = document(&[element(0x07, "_id", &[1; 12]), text("c", &"x".repeat(n_bytes))]);
    let batch = document(&[element(0x03, "0", &found)]);
    let cursor = document(&[element(0x04, "firstBatch", &batch), text("ns", "shop.docs")]);
    match kind {
        0 => answer(number, &[ok()]),
        1 => answer(number, &[element(0x03, "cursor", &cursor), ok()]),
        _ => answer(number, &[int("n", 1), ok()]),
    }
}

#[test]
fn whatever_a_server_sends_ends_in_an_answer_or_an_error() {
    let mut n_refused = 0;
    for seed in 0..N_HOSTILE {
        let mut random = below(seed + 1);
        let kind = random(3);
        let mut codec: Box<dyn Codec> = match kind {
            0 => Box::new(Ping::new("shop")),
            1 => Box::new(FindOne::new("shop", "docs")),
            _ => Box::new(InsertOne::new("shop", "docs", "abc").expect("random bytes")),
        };
        codec.request(&mut 1_u64, &mut Vec::new());
        let n_bytes = [0, 5, 200, 100_000][random(4)];
        let bytes = spoilt(right(kind, 1, n_bytes).repeat(1 + random(3)), &mut random);
        n_refused += usize::from(feed(codec.as_mut(), &bytes, &mut random).is_err());
    }
    assert!(n_refused > 50, "the changes must matter: {n_refused}");
}

#[test]
fn whatever_greets_us_ends_in_a_session_or_an_error() {
    let mut n_refused = 0;
    for seed in 0..N_HOSTILE {
        let mut random = below(seed + 1);
        let status = answer(4, &[int("pid", 7), element(0x03, "metrics", &document(&[])), ok()]);
        let bytes = spoilt([greeting(), status].concat(), &mut random);
        let end = [End::Closed, End::Silent][random(2)];
        let mut peer = Replay::new(bytes, end).in_pieces(1 + random(500));
        let Ok(mut connection) = Connection::login(&mut peer, &nobody(), LIMIT) else {
            n_refused += 1;
            continue;
        };
        assert!(connection.server_version().chars().count() <= 200);
        n_refused += usize::from(connection.status().is_err());
    }
    assert!(n_refused > 50, "the changes must matter: {n_refused}");
}
