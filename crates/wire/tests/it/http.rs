//! Tests of HTTP/1.1 from outside: every form of an answer, answers cut or changed at any byte, and texts that are not
//! an answer.
//!
//! The tests use no sockets: the peer is a recording.

use std::time::Duration;

use looptax_model::failure::Explain;
use looptax_testkit::dice::Dice;
use looptax_testkit::replay::{End, Replay};
use looptax_wire::WireError;
use looptax_wire::http::{Answer, Buffers, HttpError, Limits, Request, exchange};

const LIMIT: Duration = Duration::from_secs(1);

fn buffers(body_bytes: u64) -> Buffers {
    let kept_bytes = 1 << 20;
    Buffers::new(Limits { body_bytes, kept_bytes, time: LIMIT })
}

fn request(method: &str) -> Request {
    Request::new(method, "localhost", "/", &[], b"").expect("a request")
}

/// Sends one request; returns the answer, its body, and the number of bytes that the peer has not sent yet.
fn ask(method: &str, mut peer: Replay) -> Result<(Answer, Vec<u8>, usize), HttpError> {
    let mut buffers = buffers(1 << 20);
    let answer = exchange(&mut peer, &request(method), &mut buffers)?;
    Ok((answer, buffers.body().to_vec(), peer.unread().len()))
}

#[track_caller]
fn check(method: &str, sent: &[u8], status: u16, body: &[u8], keeps_alive: bool) {
    for piece_bytes in [1, 3, usize::MAX] {
        let peer = Replay::new(sent, End::Closed).in_pieces(piece_bytes);
        let (answer, found, _) = ask(method, peer).expect("an answer");
        let shown = String::from_utf8_lossy(sent);
        let checksum = crc32fast::hash(body);
        let expected = Answer { status, body_bytes: body.len() as u64, checksum, keeps_alive };
        assert_eq!(answer, expected, "{shown}");
        assert_eq!(found, body, "{shown}");
    }
}

#[test]
fn every_form_of_an_answer_has_its_body_and_says_whether_the_connection_goes_on() {
    let get = |sent: &str, status, body: &str, keeps_alive| {
        check("GET", sent.as_bytes(), status, body.as_bytes(), keeps_alive);
    };
    let ok = "HTTP/1.1 200 OK\r\n";
    get(&format!("{ok}Content-Length: 4\r\n\r\npage"), 200, "page", true);
    get(&format!("{ok}Content-Length: 0\r\n\r\n"), 200, "", true);
    get(&format!("{ok}content-length: 4\r\nConnection: Close\r\n\r\npage"), 200, "page", false);
    get(&format!("{ok}Date: x\r\n\r\nall of it"), 200, "all of it", false);
    let chunks = "4\r\npage\r\n3;x=y\r\ns !\r\n0\r\n";
    let chunked = format!("{ok}Transfer-Encoding: chunked\r\n\r\n{chunks}");
    get(&format!("{chunked}\r\n"), 200, "pages !", true);
    get(&format!("{chunked}X-Sum: 1\r\nY: 2\r\n\r\n"), 200, "pages !", true);
    get(&chunked, 200, "pages !", false);
    let old = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n";
    get(&format!("{old}\r\nok"), 200, "ok", false);
    get(&format!("{old}Connection: keep-alive\r\n\r\nok"), 200, "ok", true);
    get("HTTP/1.0 500 Oh no\r\n\r\noh", 500, "oh", false);
    get("\r\nHTTP/1.1 204 None\r\n\r\n", 204, "", true);
    get("HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", 304, "", true);
    get("HTTP/1.1 302 \r\nLocation: /x\r\nContent-Length: 1\r\n\r\nx", 302, "x", true);
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    let after = format!("{early}{go_on}{early}{ok}Content-Length: 2\r\n\r\nok");
    get(&after, 200, "ok", true);
    let head = format!("{ok}Content-Length: 4000\r\n\r\n");
    check("HEAD", head.as_bytes(), 200, b"", true);
}

#[test]
fn what_is_behind_an_answer_ends_the_connection() {
    let sent = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n";
    let (answer, body, _) = ask("GET", Replay::new(sent, End::Silent)).unwrap();
    assert_eq!((answer.keeps_alive, body.as_slice()), (false, &b"ok"[..]));
}

#[test]
fn one_request_after_another_goes_over_one_stream() {
    let one = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let two = "HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nno!";
    let mut peer = Replay::new(format!("{one}{two}"), End::Silent).in_pieces(1);
    let mut buffers = buffers(10);
    let mut found = Vec::new();
    for _ in 0..2 {
        let answer = exchange(&mut peer, &request("GET"), &mut buffers).unwrap();
        found.push((answer.status, buffers.body().to_vec(), answer.keeps_alive));
    }
    assert_eq!(found[0], (200, b"ok".to_vec(), true));
    assert_eq!(found[1], (404, b"no!".to_vec(), true));
    let asked = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert_eq!(peer.sent(), asked.repeat(2).as_bytes());
}

#[test]
fn a_request_that_ends_the_connection_ends_it() {
    let headers = [("Connection".to_owned(), "close".to_owned())];
    let request = Request::new("GET", "localhost", "/", &headers, b"").unwrap();
    let mut peer = Replay::new("HTTP/1.1 204 No\r\n\r\n", End::Silent);
    let answer = exchange(&mut peer, &request, &mut buffers(10)).unwrap();
    assert!(!answer.keeps_alive);
}

#[test]
fn what_is_no_answer_is_told_apart() {
    let kind = |sent: &[u8], end| {
        let [slow, whole] = [1, usize::MAX].map(|piece_bytes| {
            let peer = Replay::new(sent, end).in_pieces(piece_bytes);
            match ask("GET", peer).unwrap_err() {
                HttpError::Unanswered => "unanswered",
                HttpError::Http2 => "HTTP/2",
                HttpError::Tls => "TLS",
                HttpError::NoHttp { .. } => "no HTTP",
                HttpError::Wire(WireError::Closed { .. }) => "closed",
                HttpError::Wire(WireError::Timeout { .. }) => "timeout",
                HttpError::Wire(WireError::Malformed { .. }) => "malformed",
                HttpError::Wire(_) => "other",
            }
        });
        assert_eq!(slow, whole, "{}", sent.escape_ascii());
        whole
    };
    for (sent, closed, silent) in [
        (&b""[..], "unanswered", "timeout"),
        (b"HTTP/1.1 200", "closed", "timeout"),
        (b"HTT", "closed", "timeout"),
        (b"HTTP/2 200\r\n", "HTTP/2", "HTTP/2"),
        (b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80", "HTTP/2", "HTTP/2"),
        (b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01", "HTTP/2", "HTTP/2"),
        (b"\0\0\x12\x04", "no HTTP", "timeout"),
        (b"\x15\x03\x01\0\x02\x02\x28", "TLS", "TLS"),
        (b"\x15", "no HTTP", "timeout"),
        (b"SSH-2.0-x\r\n", "no HTTP", "no HTTP"),
        (b"\0\0\0\0\0\0\0\0\0\0", "no HTTP", "no HTTP"),
        (b"HTTP/1.1 x\r\n\r\n", "malformed", "malformed"),
        (b"HTTP/1.1 099 x\r\n\r\n", "malformed", "malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "malformed", "malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", "closed", "timeout"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "malformed", "malformed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok", "closed", "timeout"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nno end", "200", "timeout"),
    ] {
        let shown = sent.escape_ascii();
        if closed != "200" {
            assert_eq!(kind(sent, End::Closed), closed, "{shown}");
        }
        assert_eq!(kind(sent, End::Silent), silent, "{shown}");
    }
}

#[test]
fn other_protocols_have_a_next_step() {
    let hint = |sent: &[u8]| {
        let peer = Replay::new(sent, End::Closed);
        ask("GET", peer).unwrap_err().hint().unwrap_or_default()
    };
    assert!(hint(b"\x15\x03\x03\0\x02").contains("https://"));
    assert!(hint(b"HTTP/2 200").contains("HTTP/1.1"));
    assert!(hint(b"220 smtp\r\n").contains("port"));
    assert_eq!(hint(b""), "");
}

#[test]
fn heads_lines_and_bodies_have_limits() {
    let refusal = |sent: Vec<u8>| {
        let mut buffers = buffers(1000);
        let outcome = exchange(&mut Replay::new(sent, End::Silent), &request("GET"), &mut buffers);
        outcome.unwrap_err().to_string()
    };
    let ok = "HTTP/1.1 200 OK\r\n";
    let filler = "x".repeat(100_000);
    let wide = refusal(format!("{ok}A: {filler}").into());
    assert!(wide.contains("at most 64 KiB"), "{wide}");
    let many = refusal(format!("{ok}{}", "A: b\r\n".repeat(1000)).into());
    assert!(many.contains("too many headers"), "{many}");
    let announced = refusal(format!("{ok}Content-Length: 1001\r\n\r\n{filler}").into());
    assert!(announced.contains("at most 1000 are accepted"), "{announced}");
    let endless = refusal(format!("{ok}\r\n{filler}").into());
    assert!(endless.contains("at most 1000 are accepted"), "{endless}");
    let chunked = format!("{ok}Transfer-Encoding: chunked\r\n\r\n0\r\nA: {filler}");
    let trailer = refusal(chunked.into());
    assert!(trailer.contains("at most 64 KiB"), "{trailer}");
}

#[test]
fn as_much_of_a_body_is_kept_as_was_asked_for() {
    let mut buffers = Buffers::new(Limits { kept_bytes: 3, ..Limits::new(LIMIT) });
    let sent = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde";
    let mut peer = Replay::new(sent, End::Silent).in_pieces(2);
    let answer = exchange(&mut peer, &request("GET"), &mut buffers).unwrap();
    assert_eq!((answer.body_bytes, buffers.body()), (5, &b"abc"[..]));
}

#[test]
fn an_answer_cut_at_any_byte_is_closed_or_a_timeout() {
    let start = "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n";
    let sized = format!("{start}Content-Length: 6\r\n\r\nabcdef");
    let chunked = format!("{start}Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\nT: u\r\n\r\n");
    for whole in [sized, chunked] {
        for n_bytes in 0..whole.len() {
            let cut = |end| ask("GET", Replay::new(&whole.as_bytes()[..n_bytes], end).in_pieces(1));
            match cut(End::Closed) {
                Err(HttpError::Unanswered) => assert_eq!(n_bytes, 0),
                Err(HttpError::Wire(WireError::Closed { .. })) => {}
                // The last chunk had arrived.
                Ok((answer, body, _)) => {
                    let last = whole.find("\r\n0\r\n").map(|at| at + 5);
                    assert!(last.is_some_and(|at| n_bytes >= at), "{n_bytes}");
                    assert_eq!((body.as_slice(), answer.keeps_alive), (&b"abcdef"[..], false));
                }
                Err(error) => panic!("{n_bytes}: {error}"),
            }
            assert!(cut(End::Silent).is_err_and(|error| error.is_timeout()), "{n_bytes}");
        }
        assert!(ask("GET", Replay::new(whole, End::Closed)).is_ok());
    }
}

/// Bodies with random content are cut into random chunks and arrive in random pieces. The received body must be the
/// original body.
#[test]
fn chunks_are_put_together_as_they_were_cut() {
    let mut dice = Dice::new(41);
    for _ in 0..300 {
        let body: Vec<u8> = (0..dice.below(3000)).map(|_| dice.below(256) as u8).collect();
        let mut sent = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        let mut rest = body.as_slice();
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(1 + dice.below(rest.len()));
            let extension = dice.one(&["", ";a", ";a=\"b\""]);
            sent.extend(format!("{:x}{extension}\r\n", chunk.len()).into_bytes());
            sent.extend_from_slice(chunk);
            sent.extend_from_slice(b"\r\n");
            rest = after;
        }
        sent.extend(dice.one(&["0\r\n\r\n", "0\r\nA: b\r\n\r\n", "00\r\n\r\n"]).bytes());
        let peer = Replay::new(sent, End::Silent).in_pieces(1 + dice.below(100));
        let (answer, found, n_left) = ask("GET", peer).unwrap();
        assert_eq!((answer.keeps_alive, n_left), (true, 0));
        assert_eq!(answer.checksum, crc32fast::hash(&body));
        assert_eq!(found, body);
    }
}

/// Bytes of correct answers are changed, and random bytes are sent. The outcome may be an answer or an error, but never
/// a panic or an endless wait.
#[test]
fn survives_changed_bytes_anywhere() {
    let mut dice = Dice::new(42);
    let start = "HTTP/1.1 200 OK\r\nServer: x\r\nConnection: keep-alive\r\n";
    let answers = [
        format!("{start}Content-Length: 6\r\n\r\nabcdef"),
        format!("{start}Transfer-Encoding: chunked\r\n\r\n6;a\r\nabcdef\r\n0\r\nT: u\r\n\r\n"),
        format!("HTTP/1.1 103 Early\r\nLink: x\r\n\r\n{start}\r\nabcdef"),
    ];
    let mut n_refused = 0;
    for round in 0..20_000 {
        let mut bytes = answers[round % answers.len()].clone().into_bytes();
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len());
            let any = dice.below(256) as u8;
            bytes[at] = dice.one(&[any, b'\r', b'\n', b'0', b';', b' ']);
        }
        let peer = Replay::new(bytes, End::Closed).in_pieces(1 + dice.below(40));
        n_refused += usize::from(ask("GET", peer).is_err());
    }
    assert!(n_refused > 5000, "the changes must matter: {n_refused}");
    for _ in 0..5_000 {
        let bytes: Vec<u8> = (0..dice.below(200)).map(|_| dice.below(256) as u8).collect();
        assert!(ask("GET", Replay::new(bytes, End::Closed)).is_err());
    }
}
