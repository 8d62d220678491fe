//! FastCGI: requests to a web server's programs, and their answers.
//!
//! Supports only what a page of PHP needs: the responder role, one request after another. [`request`] sends one request
//! and reads any answer as a whole; [`Page`] is for the measured loop. The peer is untrusted, so the size of an answer
//! is limited. Existing crates for FastCGI need an async runtime. `servers` and `path` use this module to send requests
//! to `php-fpm`.
//!
//! Source: FastCGI Specification 1.0, sections 3 to 5 and 8.

mod page;

use std::time::Duration;

pub use page::{Asked, Connection, Page};

use crate::io::{read_exact, write_all};
use crate::{Stream, WireError};

const VERSION: u8 = 1;
const REQUEST_ID: u8 = 1;
const RESPONDER: u8 = 1;
/// The flag of a request that asks to keep the connection open after the answer.
const KEEP_CONNECTION: u8 = 1;

const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;

const HEADER_BYTES: usize = 8;
/// Highest number of bytes in a record's content, whose length has 16 bits.
const RECORD_BYTES: usize = 0xffff;

/// Highest number of bytes in an answer. The headers of the records count like the content of both streams, so that a
/// series of empty records also reaches the limit. A usual page has a hundredth of this size.
const ANSWER_LIMIT: u64 = 64 << 20;

const ACTION: &str = "read a FastCGI answer";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The answer's headers and body, with an empty line between them.
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
    pub status: u32,
}

/// Sends one request with these parameters and without a body, and waits for the whole answer.
///
/// `limit` is the stream's own time limit, only for error messages.
///
/// # Errors
/// [`WireError::Timeout`], [`WireError::Closed`] and [`WireError::Io`] for the stream; [`WireError::Malformed`] and
/// [`WireError::TooLong`] for the peer's answer, also if it refuses the request; [`WireError::Request`] for parameters
/// that do not fit.
pub fn request(stream: &mut impl Stream, params: &[(&str, &str)], limit: Duration) -> Result<Answer, WireError> {
    let bytes = encode(params)?;
    write_all(stream, &bytes, "send a FastCGI request", limit)?;
    let mut answer = Answer::default();
    let mut stated = 0;
    loop {
        let (kind, content) = read_record(stream, limit)?;
        stated += (HEADER_BYTES + content.len()) as u64;
        match kind {
            STDOUT => answer.output.extend(content),
            STDERR => answer.errors.extend(content),
            END_REQUEST => {
                answer.status = status(&content)?;
                return Ok(answer);
            }
            _ => return Err(malformed("an output record or an end record", &[kind])),
        }
        if stated > ANSWER_LIMIT {
            return Err(WireError::TooLong { action: ACTION, stated, limit: ANSWER_LIMIT });
        }
    }
}

/// Returns the bytes of one request with these parameters and without a body.
///
/// # Errors
/// [`WireError::Request`] for parameters that do not fit.
pub fn encode(params: &[(&str, &str)]) -> Result<Vec<u8>, WireError> {
    let mut bytes = record(BEGIN_REQUEST, &[0, RESPONDER, 0, 0, 0, 0, 0, 0]);
    bytes.extend(record(PARAMS, &pairs_of(params)?));
    // An empty record ends a stream.
    bytes.extend(record(PARAMS, &[]));
    bytes.extend(record(STDIN, &[]));
    Ok(bytes)
}

/// Encodes names and values as the content of one record.
fn pairs_of(params: &[(&str, &str)]) -> Result<Vec<u8>, WireError> {
    let mut pairs = Vec::new();
    for (name, value) in params {
        for text in [name, value] {
            push_length(&mut pairs, text.len());
        }
        pairs.extend([*name, *value].concat().into_bytes());
    }
    if pairs.len() > RECORD_BYTES {
        return Err(WireError::Request { what: format!("a request's parameters have {} bytes", pairs.len()) });
    }
    Ok(pairs)
}

/// Appends a length: one byte if it is below 128, otherwise four bytes with the highest bit set.
fn push_length(bytes: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => bytes.push(short),
        _ => bytes.extend((length as u32 | 0x8000_0000).to_be_bytes()),
    }
}

/// Makes a record; the caller ensures that `content` fits.
fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let mut bytes = vec![VERSION, kind, 0, REQUEST_ID, high, low, 0, 0];
    bytes.extend(content);
    bytes
}

/// Reads the next record of our request: its type and content.
fn read_record(stream: &mut impl Stream, limit: Duration) -> Result<(u8, Vec<u8>), WireError> {
    let mut header = [0; HEADER_BYTES];
    read_exact(stream, &mut header, ACTION, limit)?;
    let [version, kind, id_high, id_low, high, low, n_padding, _] = header;
    if (version, id_high, id_low) != (VERSION, 0, REQUEST_ID) {
        return Err(malformed("a record of the request", &header));
    }
    let n_content = usize::from(u16::from_be_bytes([high, low]));
    let mut content = vec![0; n_content + usize::from(n_padding)];
    read_exact(stream, &mut content, ACTION, limit)?;
    content.truncate(n_content);
    Ok((kind, content))
}

/// Returns the program's status, if the request was not refused.
fn status(content: &[u8]) -> Result<u32, WireError> {
    match content {
        [a, b, c, d, 0, ..] => Ok(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => Err(malformed("a completed request", content)),
    }
}

fn malformed(expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed("FastCGI", ACTION, expected, found)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};

    use super::*;

    /// A peer that always sends the given bytes, whatever it receives.
    struct Peer<'a> {
        sends: &'a [u8],
        got: Vec<u8>,
    }

    impl Read for Peer<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.sends.read(buffer)
        }
    }

    impl Write for Peer<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.got.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn ask(sends: &[u8]) -> Result<Answer, WireError> {
        let mut peer = Peer { sends, got: Vec::new() };
        request(&mut peer, &[("A", "b")], Duration::from_secs(1))
    }

    #[test]
    fn a_request_is_its_parameters_and_two_ends() {
        let long = "x".repeat(300);
        let bytes = encode(&[("A", "b"), ("L", &long)]).unwrap();
        let mut expected = vec![1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        expected.extend([1, 4, 0, 1, 1, 54, 0, 0]);
        expected.extend([1, 1, b'A', b'b']);
        expected.extend([1, 0x80, 0, 1, 44, b'L']);
        expected.extend(long.as_bytes());
        expected.extend([1, 4, 0, 1, 0, 0, 0, 0, 1, 5, 0, 1, 0, 0, 0, 0]);
        assert_eq!(bytes, expected);
        assert!(encode(&[("A", &"x".repeat(70_000))]).is_err());
    }

    #[test]
    fn an_answer_is_put_together_from_its_records() {
        let padded = [1, 6, 0, 1, 0, 2, 3, 0, b'o', b'k', 9, 9, 9];
        let mut sends = padded.to_vec();
        sends.extend(record(STDERR, b"oh"));
        sends.extend(record(STDOUT, b"!"));
        sends.extend(record(END_REQUEST, &[0, 0, 1, 2, 0, 0, 0, 0]));
        let expected = Answer { output: b"ok!".to_vec(), errors: b"oh".to_vec(), status: 258 };
        assert_eq!(ask(&sends).unwrap(), expected);
    }

    #[track_caller]
    fn check_refused(sends: &[u8], words: &str) {
        let error = ask(sends).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        check_refused(b"", "closed the connection");
        check_refused(&record(STDOUT, b"half")[..10], "closed the connection");
        check_refused(b"HTTP/1.1 400 Bad", "a record of the request");
        check_refused(&record(STDIN, b"x"), "an output record or an end record");
        check_refused(&record(END_REQUEST, &[0]), "a completed request");
        let overloaded = [0, 0, 0, 0, 2, 0, 0, 0];
        check_refused(&record(END_REQUEST, &overloaded), "a completed request");
    }

    #[test]
    fn an_answer_without_end_is_cut() {
        let sends = record(STDOUT, &vec![b'x'; RECORD_BYTES]).repeat(1100);
        check_refused(&sends, "at most");
    }
}
