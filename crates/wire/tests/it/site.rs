//! Tests of HTTP and FastCGI for the load engine from outside: greetings, and peers that send anything.
//!
//! The tests use no sockets: the peer is a recording.

use std::time::Duration;

use looptax_testkit::replay::{End, Replay};
use looptax_wire::{Codec, WireError, fastcgi, upstream};

const LIMIT: Duration = Duration::from_secs(1);
/// Number of peers of each protocol that send bytes they should not send.
pub(super) const N_HOSTILE: u64 = 250;
/// Highest number of bytes in an answer: several times the number that a codec reads at a time.
const MOST_BYTES: usize = 400_000;

/// Returns a generator of random numbers below a given number, by xorshift64 (Marsaglia 2003).
pub(super) fn below(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |limit| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit.max(1) as u64) as usize
    }
}

fn http_answer(n_bytes: usize, is_chunked: bool) -> Vec<u8> {
    let mut answer = b"HTTP/1.1 200 OK\r\nServer: x/1\r\n".to_vec();
    if is_chunked {
        answer.extend(b"Transfer-Encoding: chunked\r\n\r\n");
        for piece in vec![b'x'; n_bytes].chunks(7000) {
            answer.extend(format!("{:x}\r\n", piece.len()).into_bytes());
            answer.extend([piece, b"\r\n"].concat());
        }
        answer.extend(b"0\r\n\r\n");
    } else {
        answer.extend(format!("Content-Length: {n_bytes}\r\n\r\n").into_bytes());
        answer.resize(answer.len() + n_bytes, b'x');
    }
    answer
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    [&[1, kind, 0, 1, high, low, 0, 0][..], content].concat()
}

fn fastcgi_answer(body: &[u8]) -> Vec<u8> {
    let mut answer = record(6, b"Content-type: text/html\r\n\r\n");
    for piece in body.chunks(8000) {
        answer.extend(record(6, piece));
    }
    answer.extend(record(3, &[0; 8]));
    answer
}

/// Changes, cuts, doubles or replaces parts of a correct answer.
pub(super) fn spoilt(mut bytes: Vec<u8>, random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    for _ in 0..=random(4) {
        let at = random(bytes.len());
        match random(5) {
            0 => bytes.truncate(at),
            1 => {
                let again = bytes[at..].to_vec();
                bytes.splice(at..at, again);
            }
            2 => {
                let n = random(200);
                bytes.splice(at..at, (0..n).map(|idx| (idx * 37) as u8));
            }
            _ if !bytes.is_empty() => bytes[at] = random(256) as u8,
            _ => {}
        }
        bytes.truncate(MOST_BYTES);
    }
    bytes
}

/// Feeds a codec in pieces as the load engine does, until it fails or all bytes are read; returns the number of
/// answers.
pub(super) fn feed(
    codec: &mut dyn Codec,
    bytes: &[u8],
    random: &mut impl FnMut(usize) -> usize,
) -> Result<usize, WireError> {
    let (mut received, mut n_answers, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let n = (1 + random(9000)).min(bytes.len() - at);
        received.extend_from_slice(&bytes[at..at + n]);
        at += n;
        while let Some(reply) = codec.reply(&received)? {
            assert!(reply.bytes <= received.len() && reply.bytes > 0);
            assert!(received.get(reply.data).is_some());
            received.drain(..reply.bytes);
            n_answers += 1;
        }
        let n_passed = codec.n_passed();
        assert!(n_passed <= received.len());
        received.drain(..n_passed);
    }
    Ok(n_answers)
}

#[test]
fn whatever_an_http_server_sends_ends_in_an_answer_or_an_error() {
    let mut n_refused = 0;
    for seed in 0..N_HOSTILE {
        let mut random = below(seed + 1);
        let n_bytes = [0, 5, 200, 100_000][random(4)];
        let right = http_answer(n_bytes, random(2) == 1);
        let bytes = spoilt(right.repeat(1 + random(3)), &mut random);
        let mut fetch = upstream::Fetch::new(&upstream::Asked::page("/")).unwrap();
        n_refused += usize::from(feed(&mut fetch, &bytes, &mut random).is_err());
        let end = [End::Closed, End::Silent][random(2)];
        let mut peer = Replay::new(bytes, end).in_pieces(1 + random(5000));
        if let Ok(connection) = upstream::Connection::hello(&mut peer, "/", LIMIT) {
            assert!(connection.server().chars().count() <= 200);
        }
    }
    assert!(n_refused > 50, "the changes must matter: {n_refused}");
}

#[test]
fn whatever_a_php_fpm_sends_ends_in_an_answer_or_an_error() {
    let mut n_refused = 0;
    for seed in 0..N_HOSTILE {
        let mut random = below(seed + 1);
        let n_bytes = [0, 5, 200, 100_000][random(4)];
        let right = fastcgi_answer(&vec![b'x'; n_bytes]);
        let bytes = spoilt(right.repeat(1 + random(3)), &mut random);
        let mut page = fastcgi::Page::new(&fastcgi::Asked::script("/a.php")).unwrap();
        n_refused += usize::from(feed(&mut page, &bytes, &mut random).is_err());
        let end = [End::Closed, End::Silent][random(2)];
        let mut peer = Replay::new(bytes, end).in_pieces(1 + random(5000));
        // The worker is not a number, so no process is recorded as the worker.
        assert!(fastcgi::Connection::hello(&mut peer, "/site", LIMIT).is_err());
    }
    assert!(n_refused > 50, "the changes must matter: {n_refused}");
}

#[test]
fn a_server_says_who_it_is_and_looptax_s_own_who_serves() {
    let answer = "HTTP/1.1 200 OK\r\nserver: gunicorn\r\nLooptax-Worker: 77\r\nLooptax-Peer: 127.0.0.1:9\r\n\
                  Content-Length: 0\r\n\r\n";
    let mut peer = Replay::new(answer.as_bytes(), End::Silent).in_pieces(3);
    let connection = upstream::Connection::hello(&mut peer, "/a?b", LIMIT).unwrap();
    assert_eq!((connection.server(), connection.worker()), ("gunicorn", Some(77)));
    assert_eq!(connection.peer(), Some("127.0.0.1:9".parse().unwrap()));
    assert_eq!(connection.target(), "/a?b");
    assert!(connection.into_stream().sent().starts_with(b"GET /a?b HTTP/1.1\r\n"));

    let mut peer = Replay::new(fastcgi_answer(b"4711"), End::Silent).in_pieces(3);
    let connection = fastcgi::Connection::hello(&mut peer, "/site", LIMIT).unwrap();
    assert_eq!(connection.worker(), Some(4711));
}

#[test]
fn counts_are_read_from_the_servers_own_pages() {
    let status = b"{\"pool\":\"pool0\",\"start since\":9,\"accepted conn\":4242,\"listen queue\":0}";
    let first = fastcgi_answer(b"7");
    let bytes = [&first[..], &fastcgi_answer(status)].concat();
    let peer = Replay::new(bytes, End::Silent).in_pieces(first.len());
    let mut connection = fastcgi::Connection::hello(peer, "/s", LIMIT);
    let count = connection.as_mut().map(|it| it.count("/status", LIMIT));
    assert_eq!(count.unwrap().unwrap(), 4242);

    let who = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let number = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n987";
    let other = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno";
    for (second, expected) in [(&number[..], Some(987)), (&other[..], None)] {
        let bytes = [&who[..], second].concat();
        let peer = Replay::new(bytes, End::Silent).in_pieces(who.len());
        let mut connection = upstream::Connection::hello(peer, "/who", LIMIT).unwrap();
        assert_eq!(connection.count(LIMIT).ok(), expected);
    }
}
