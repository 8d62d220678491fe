//! The codec of one request, and the parser of the heads of its answers.
//!
//! Runs in the measured loop: `request` copies bytes that were made once, `reply` finds the bounds of one answer and
//! skips long bodies. Neither function allocates (except for an error, and for a head longer than all earlier heads),
//! locks, logs, or makes a system call.

use super::chunks::Chunks;
use super::fault::{READ_REPLY, malformed};
use crate::error::printable;
use crate::{Codec, Draws, Renewal, Reply, WireError};

/// Highest number of bytes in a head: many times the number that nginx by default accepts from an upstream.
const HEAD_LIMIT: usize = 64 << 10;
/// Highest number of header lines in a head.
const MOST_HEADERS: usize = 64;
/// Highest number of bytes in a body.
const BODY_LIMIT: u64 = 1 << 30;
/// Highest number of bytes in a body that is kept as a whole, so that the bodies of the two arms can be compared.
const KEPT_BYTES: u64 = 64 << 10;

/// The description of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    pub target: &'a str,
    /// Number of bytes in the body; `None` for a GET without a body.
    pub upload_bytes: Option<usize>,
    /// The expected length of the answer's body in bytes, if known.
    pub answer_bytes: Option<u64>,
    /// Whether the connection is to end after the answer.
    pub is_last: bool,
}

impl<'a> Asked<'a> {
    /// Returns a GET request on a connection that stays open; the answer may have any length.
    pub fn page(target: &'a str) -> Self {
        Self { target, upload_bytes: None, answer_bytes: None, is_last: false }
    }
}

/// One request that is sent as often as needed.
#[derive(Debug, Clone)]
pub struct Fetch {
    request: Vec<u8>,
    expected_bytes: Option<u64>,
    is_last: bool,
    body: Body,
    /// The bytes of the last head; `known_body` is the body that it announced. Most heads are equal to the previous
    /// head, and then announce the same body.
    known_head: Vec<u8>,
    known_body: Body,
    /// Number of bytes of the body that have arrived so far.
    n_body: u64,
    n_passed: usize,
}

/// The part of an answer that comes next.
#[derive(Debug, Clone, Copy)]
enum Body {
    Head,
    /// This many bytes of the body are still to come.
    Bytes(u64),
    Chunked(Chunks),
}

impl Fetch {
    /// # Errors
    /// [`WireError::Request`] for a target that cannot be in a request line.
    pub fn new(asked: &Asked<'_>) -> Result<Self, WireError> {
        let target = asked.target;
        if !target.starts_with('/') || target.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(WireError::Request { what: format!("`{}` is not the path of a page", target.escape_debug()) });
        }
        let method = if asked.upload_bytes.is_some() { "POST" } else { "GET" };
        let mut request =
            format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: looptax\r\n").into_bytes();
        if asked.is_last {
            request.extend_from_slice(b"Connection: close\r\n");
        }
        if let Some(n_bytes) = asked.upload_bytes {
            request.extend_from_slice(format!("Content-Length: {n_bytes}\r\n\r\n").as_bytes());
            request.resize(request.len() + n_bytes, b'x');
        } else {
            request.extend_from_slice(b"\r\n");
        }
        Ok(Self {
            request,
            expected_bytes: asked.answer_bytes,
            is_last: asked.is_last,
            body: Body::Head,
            known_head: Vec::new(),
            known_body: Body::Head,
            n_body: 0,
            n_passed: 0,
        })
    }

    /// Parses the head at the start of `received`; returns the head's length, or `None` while the head is not complete.
    fn take_head(&mut self, received: &[u8]) -> Result<Option<usize>, WireError> {
        self.n_body = 0;
        if !self.known_head.is_empty() && received.starts_with(&self.known_head) {
            self.body = self.known_body;
            return Ok(Some(self.known_head.len()));
        }
        let is_last = self.is_last;
        let Some((n_head, body)) = with_head(received, |head| body_of(head, is_last))? else {
            return Ok(None);
        };
        self.body = body?;
        self.known_body = self.body;
        self.known_head.clear();
        self.known_head.extend_from_slice(&received[..n_head]);
        Ok(Some(n_head))
    }

    fn check_length(&self) -> Result<(), WireError> {
        match self.expected_bytes {
            Some(expected) if expected != self.n_body => Err(WireError::Unexpected {
                statement: "the page".to_owned(),
                what: "bytes",
                expected,
                found: self.n_body,
            }),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, bytes: usize, n_data: usize) -> Result<Option<Reply>, WireError> {
        self.body = Body::Head;
        self.check_length()?;
        Ok(Some(Reply { bytes, data: bytes - n_data..bytes }))
    }
}

impl Codec for Fetch {
    #[inline]
    fn request(&mut self, _draws: &mut dyn Draws, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.request);
    }

    fn renewal(&self) -> Renewal {
        Renewal::Same
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        self.n_passed = 0;
        let mut at = 0;
        if matches!(self.body, Body::Head) {
            match self.take_head(received)? {
                Some(n_head) => at = n_head,
                None => return Ok(None),
            }
        }
        let rest = &received[at..];
        match &mut self.body {
            Body::Bytes(n_left) => {
                let n_left = *n_left;
                let n_here = n_left.min(rest.len() as u64);
                if n_here == n_left {
                    self.n_body += n_here;
                    let n_data = if self.n_body == n_here { n_here as usize } else { 0 };
                    return self.whole(at + n_here as usize, n_data);
                }
                if self.n_body + n_left <= KEPT_BYTES {
                    // The body is short: the head is read again when the whole answer has arrived.
                    self.body = Body::Head;
                    return Ok(None);
                }
                self.n_body += n_here;
                self.body = Body::Bytes(n_left - n_here);
                self.n_passed = at + n_here as usize;
                Ok(None)
            }
            Body::Chunked(chunks) => {
                let taken = chunks.take(rest)?;
                self.n_body += taken.n_body;
                if self.n_body > BODY_LIMIT {
                    return Err(too_long(self.n_body));
                }
                if taken.is_end {
                    return self.whole(at + taken.n_used, 0);
                }
                self.n_passed = at + taken.n_used;
                Ok(None)
            }
            Body::Head => Ok(None),
        }
    }

    fn n_passed(&self) -> usize {
        self.n_passed
    }
}

/// A complete head with its fields.
pub(super) type Head<'h, 'b> = httparse::Response<'h, 'b>;

/// Returns the length of the head at the start of `received`, and the result of `look` for the head; `None` while the
/// head is not complete.
///
/// # Errors
/// [`WireError::Malformed`] for bytes that are not a head, [`WireError::TooLong`] for a head that does not end.
pub(super) fn with_head<T>(
    received: &[u8],
    look: impl FnOnce(&Head<'_, '_>) -> T,
) -> Result<Option<(usize, T)>, WireError> {
    let mut lines = [const { std::mem::MaybeUninit::uninit() }; MOST_HEADERS];
    let mut head = Head::new(&mut []);
    let config = httparse::ParserConfig::default();
    let parsed = config.parse_response_with_uninit_headers(&mut head, received, &mut lines);
    match parsed {
        Ok(httparse::Status::Complete(n_bytes)) => Ok(Some((n_bytes, look(&head)))),
        Ok(httparse::Status::Partial) if received.len() > HEAD_LIMIT => {
            Err(WireError::TooLong { action: READ_REPLY, stated: received.len() as u64, limit: HEAD_LIMIT as u64 })
        }
        Ok(httparse::Status::Partial) => Ok(None),
        Err(_) => Err(malformed("the head of an answer", received)),
    }
}

/// Returns the kind of body that a head announces. Fails if the server ends a connection that it should keep open.
fn body_of(head: &Head<'_, '_>, is_last: bool) -> Result<Body, WireError> {
    let code = head.code.unwrap_or_default();
    if !(200..300).contains(&code) {
        return Err(WireError::Server {
            code: code.to_string(),
            message: printable(head.reason.unwrap_or_default().as_bytes()),
        });
    }
    let (mut length, mut is_chunked) = (None, false);
    let mut is_open = head.version == Some(1);
    for line in head.headers.iter() {
        let is = |name: &str| line.name.eq_ignore_ascii_case(name);
        let says = |word: &[u8]| {
            let mut words = line.value.split(|byte| *byte == b',');
            words.any(|it| it.trim_ascii().eq_ignore_ascii_case(word))
        };
        if is("Content-Length") {
            length = Some(number(line.value)?);
        } else if is("Transfer-Encoding") {
            is_chunked = says(b"chunked");
        } else if is("Connection") {
            is_open = (is_open || says(b"keep-alive")) && !says(b"close");
        }
    }
    if !is_open && !is_last {
        return Err(WireError::EndsConnection { action: READ_REPLY });
    }
    match (is_chunked, length) {
        (true, _) => Ok(Body::Chunked(Chunks::Length)),
        (false, Some(length)) if length > BODY_LIMIT => Err(too_long(length)),
        (false, Some(length)) => Ok(Body::Bytes(length)),
        (false, None) if code == 204 => Ok(Body::Bytes(0)),
        (false, None) => {
            Err(WireError::Unsupported { what: "an answer that ends when its connection ends".to_owned() })
        }
    }
}

fn number(value: &[u8]) -> Result<u64, WireError> {
    let text = std::str::from_utf8(value.trim_ascii()).ok();
    let number = text.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
    { number.and_then(|it| it.parse().ok()) }.ok_or_else(|| malformed("a length", value))
}

/// Returns the value of a header; if several headers have this name, the value of the first.
pub(super) fn header<'b>(head: &Head<'_, 'b>, name: &str) -> Option<&'b str> {
    let mut lines = head.headers.iter();
    let line = lines.find(|it| it.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(line.value).ok().map(str::trim)
}

fn too_long(stated: u64) -> WireError {
    WireError::TooLong { action: READ_REPLY, stated, limit: BODY_LIMIT }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "HTTP/1.1 200 OK\r\nServer: x\r\n";

    fn fetch(expected: Option<u64>) -> Fetch {
        let asked = Asked { answer_bytes: expected, ..Asked::page("/a?b=1") };
        Fetch::new(&asked).unwrap()
    }

    /// Feeds all answers in pieces of `n_piece` bytes, and returns the data of each answer.
    fn read(fetch: &mut Fetch, answers: &[u8], n_piece: usize) -> Result<Vec<Vec<u8>>, WireError> {
        let (mut received, mut found) = (Vec::new(), Vec::new());
        for piece in answers.chunks(n_piece) {
            received.extend_from_slice(piece);
            loop {
                let Some(reply) = fetch.reply(&received)? else {
                    received.drain(..fetch.n_passed());
                    break;
                };
                found.push(received[reply.data.clone()].to_vec());
                received.drain(..reply.bytes);
            }
        }
        assert!(received.is_empty());
        Ok(found)
    }

    #[test]
    fn answers_are_found_in_pieces_of_any_size() {
        let short = format!("{HEAD}Content-Length: 5\r\n\r\nhello");
        let chunked = format!("{HEAD}transfer-encoding: gzip, Chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
        let answers = format!("{short}{chunked}{short}");
        for n_piece in 1..answers.len() {
            let found = read(&mut fetch(Some(5)), answers.as_bytes(), n_piece).unwrap();
            assert_eq!(found, [&b"hello"[..], b"", b"hello"], "{n_piece}");
        }
    }

    #[test]
    fn a_long_body_is_passed_over_as_it_comes() {
        let n_bytes = 300_000_u64;
        let mut answer = format!("{HEAD}Content-Length: {n_bytes}\r\n\r\n").into_bytes();
        answer.resize(answer.len() + n_bytes as usize, b'x');
        let answers = answer.repeat(2);
        assert_eq!(read(&mut fetch(Some(n_bytes)), &answers, 10_000).unwrap().len(), 2);
        assert!(read(&mut fetch(Some(n_bytes + 1)), &answers, 10_000).is_err());
    }

    #[track_caller]
    fn check_refused(answer: &str, words: &str) {
        let error = fetch(None).reply(answer.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn what_is_no_answer_to_measure_is_refused() {
        check_refused("SSH-2.0-OpenSSH_9.2\r\n", "the head of an answer");
        check_refused("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404");
        check_refused("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", "302");
        check_refused("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "closes the connection after its answer");
        check_refused("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "closes the connection after its answer");
        check_refused("HTTP/1.1 200 OK\r\n\r\n", "that ends when its connection ends");
        check_refused("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "a length");
        check_refused("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "at most");
        let endless = format!("{HEAD}A: {}", "x".repeat(HEAD_LIMIT));
        check_refused(&endless, "at most");
    }

    #[test]
    fn a_request_says_when_it_is_the_last_and_what_it_brings() {
        let bytes = |asked: &Asked<'_>| {
            let mut bytes = Vec::new();
            Fetch::new(asked).unwrap().request(&mut 1, &mut bytes);
            String::from_utf8(bytes).unwrap()
        };
        let start = "/a HTTP/1.1\r\nHost: localhost\r\nUser-Agent: looptax\r\n";
        assert_eq!(bytes(&Asked::page("/a")), format!("GET {start}\r\n"));
        let asked = Asked { upload_bytes: Some(3), is_last: true, ..Asked::page("/a") };
        let expected = format!("POST {start}Connection: close\r\nContent-Length: 3\r\n\r\nxxx");
        assert_eq!(bytes(&asked), expected);
        for target in ["", "a", "/a b", "/a\r\nX: y"] {
            assert!(Fetch::new(&Asked::page(target)).is_err(), "{target}");
        }
    }
}
