//! One page, requested repeatedly on a connection that stays open, for the measured loop.
//!
//! Runs in the measured loop: `request` copies bytes that were made once, `reply` goes through the records of one
//! answer and skips long content. Neither of them allocates (except for an error), locks, logs, or makes a system call.
//! The load engine calls them; before that [`Connection`] sends one request.

use std::time::Duration;

use super::{
    ACTION, BEGIN_REQUEST, END_REQUEST, HEADER_BYTES, KEEP_CONNECTION, PARAMS, RECORD_BYTES, REQUEST_ID, RESPONDER,
    STDERR, STDIN, STDOUT, VERSION, malformed, pairs_of, record, status,
};
use crate::error::printable;
use crate::io::{read_some, write_all};
use crate::{Codec, Draws, Renewal, Reply, Stream, WireError, site};

/// Highest number of bytes in a page.
const BODY_LIMIT: u64 = 1 << 30;
/// Highest number of bytes in an answer that is kept as a whole, so that the answers of the two arms can be compared.
const KEPT_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 16 << 10;

/// The request for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The script's path, as PHP sees it.
    pub script: &'a str,
    pub query: &'a str,
    /// Number of bytes in the body of a POST request, if there is one.
    pub upload_bytes: Option<usize>,
    /// The expected length of the page in bytes, if known.
    pub answer_bytes: Option<u64>,
    /// Whether the connection is to end after the answer. This is nginx's default.
    pub is_last: bool,
}

impl<'a> Asked<'a> {
    /// Returns a GET request on a connection that stays open; the answer may have any length.
    pub fn script(script: &'a str) -> Self {
        Self { script, query: "", upload_bytes: None, answer_bytes: None, is_last: false }
    }
}

/// A connection to PHP-FPM with looptax's own site.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    stream: S,
    folder: String,
    worker: Option<u32>,
}

impl<S: Stream> Connection<S> {
    /// Returns a connection on which no request has been sent yet.
    pub fn silent(stream: S, folder: &str) -> Self {
        Self { stream, folder: folder.to_owned(), worker: None }
    }

    /// Requests the id of the process that answers; the site's scripts are in `folder`.
    ///
    /// `limit` is the stream's own time limit, for error messages; the stream enforces it.
    ///
    /// # Errors
    /// The errors of [`Page`] for the answer; `Timeout`, `Closed`, `Io`.
    pub fn hello(mut stream: S, folder: &str, limit: Duration) -> Result<Self, WireError> {
        let mut page = Page::new(&Asked::script(&site::script(folder, site::WHO)))?;
        let mut request = Vec::new();
        page.request(&mut 0, &mut request);
        write_all(&mut stream, &request, ACTION, limit)?;
        let mut received = Vec::new();
        loop {
            let at = received.len();
            received.resize(at + READ_BYTES, 0);
            let n = read_some(&mut stream, &mut received[at..], ACTION, limit)?;
            received.truncate(at + n);
            if let Some(reply) = page.reply(&received)? {
                if reply.bytes < received.len() {
                    let more = &received[reply.bytes..];
                    return Err(malformed("one answer to one request", more));
                }
                let answer = &received[reply.data];
                let number = std::str::from_utf8(answer).ok().and_then(|it| it.parse().ok());
                let Some(worker) = number else {
                    return Err(malformed("the number of a process", answer));
                };
                return Ok(Self { worker: Some(worker), ..Self::silent(stream, folder) });
            }
            received.drain(..page.n_passed());
        }
    }

    /// Reads from the pool's status page how many requests the pool has accepted, including this one.
    ///
    /// # Errors
    /// [`WireError::Malformed`] if there is no such page; `Timeout`, `Closed`, `Io`.
    ///
    /// # Source
    /// PHP manual, "FPM Status Page": `accepted conn`.
    pub fn count(&mut self, page: &str, limit: Duration) -> Result<u64, WireError> {
        let params =
            [("SCRIPT_NAME", page), ("SCRIPT_FILENAME", page), ("QUERY_STRING", "json"), ("REQUEST_METHOD", "GET")];
        let output = super::request(&mut self.stream, &params, limit)?.output;
        let text = String::from_utf8_lossy(&output);
        let rest = text.split_once("\"accepted conn\":").map(|(_, rest)| rest);
        let digits = rest.and_then(|rest| rest.split(',').next());
        let number = digits.and_then(|it| it.trim().parse().ok());
        number.ok_or_else(|| malformed("a pool's status", &output))
    }

    /// Returns the id of the process that answers; `None` if the id was not requested.
    pub fn worker(&self) -> Option<u32> {
        self.worker
    }

    /// Returns the folder of the site's scripts.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns the stream, for the load engine. No bytes after the last reply have been read from it.
    pub fn into_stream(self) -> S {
        self.stream
    }
}

/// One request that is sent as often as needed.
#[derive(Debug, Clone)]
pub struct Page {
    request: Vec<u8>,
    expected_bytes: Option<u64>,
    /// Whether the answer's headers have been read.
    has_head: bool,
    /// Number of bytes of the page so far.
    n_body: u64,
    n_passed: usize,
}

impl Page {
    /// # Errors
    /// [`WireError::Request`] for parameters that do not fit into a record.
    pub fn new(asked: &Asked<'_>) -> Result<Self, WireError> {
        Ok(Self {
            request: encode(asked)?,
            expected_bytes: asked.answer_bytes,
            has_head: false,
            n_body: 0,
            n_passed: 0,
        })
    }

    /// Counts the bytes of an output record; returns the position in the record at which the page itself begins.
    fn take_output(&mut self, content: &[u8]) -> Result<usize, WireError> {
        let mut at = 0;
        if !self.has_head && !content.is_empty() {
            at = head_bytes(content)?;
            self.has_head = true;
        }
        self.n_body += (content.len() - at) as u64;
        if self.n_body > BODY_LIMIT {
            return Err(WireError::TooLong { action: ACTION, stated: self.n_body, limit: BODY_LIMIT });
        }
        Ok(at)
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

    fn begin(&mut self) {
        self.has_head = false;
        self.n_body = 0;
    }
}

impl Codec for Page {
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
        // The page, if it is in one record and within the received bytes.
        let mut data = 0..0;
        let mut n_bodies = 0;
        let before = (self.has_head, self.n_body);
        while let Some((kind, n_content, n_record)) = next_record(&received[at..])? {
            let content_at = at + HEADER_BYTES;
            let content = &received[content_at..content_at + n_content];
            match kind {
                STDOUT => {
                    let body_at = content_at + self.take_output(content)?;
                    let body = body_at..content_at + n_content;
                    if !body.is_empty() {
                        n_bodies += 1;
                        data = body;
                    }
                }
                STDERR if n_content > 0 => return Err(complaint(content)),
                STDERR => {}
                END_REQUEST => {
                    status(content)?;
                    self.check_length()?;
                    let is_all = n_bodies == 1 && before == (false, 0);
                    self.begin();
                    return Ok(Some(Reply { bytes: at + n_record, data: if is_all { data } else { 0..0 } }));
                }
                _ => return Err(malformed("an output record or an end record", &[kind])),
            }
            at += n_record;
        }
        if at <= KEPT_BYTES {
            // The answer is still short, so it is read again from its start when more bytes have arrived.
            (self.has_head, self.n_body) = before;
        } else {
            self.n_passed = at;
        }
        Ok(None)
    }

    fn n_passed(&self) -> usize {
        self.n_passed
    }
}

/// Returns the record at the start of `bytes`, if the record is complete: its type, the length of its content, and its
/// total length.
fn next_record(bytes: &[u8]) -> Result<Option<(u8, usize, usize)>, WireError> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let [version, kind, id_high, id_low, high, low, n_padding, _] = *header;
    if (version, id_high, id_low) != (VERSION, 0, REQUEST_ID) {
        return Err(malformed("a record of the request", header));
    }
    let n_content = usize::from(u16::from_be_bytes([high, low]));
    let n_record = HEADER_BYTES + n_content + usize::from(n_padding);
    Ok((bytes.len() >= n_record).then_some((kind, n_content, n_record)))
}

/// Returns the length of the headers. PHP sends all of them in its first record.
fn head_bytes(content: &[u8]) -> Result<usize, WireError> {
    const STATUS: &[u8] = b"Status: ";
    let Some(at) = content.windows(4).position(|it| it == b"\r\n\r\n") else {
        return Err(malformed("the head of a page, complete in one record", content));
    };
    let head = &content[..at];
    let mut lines = head.split(|byte| *byte == b'\n');
    if let Some(line) = lines.find(|line| line.starts_with(STATUS)) {
        let words = printable(line[STATUS.len()..].trim_ascii());
        let (code, message) = words.split_once(' ').unwrap_or((&words, ""));
        if !code.starts_with('2') {
            return Err(WireError::Server { code: code.to_owned(), message: message.to_owned() });
        }
    }
    Ok(at + 4)
}

#[cold]
fn complaint(content: &[u8]) -> WireError {
    WireError::Server { code: "stderr".to_owned(), message: printable(content.trim_ascii()) }
}

fn encode(asked: &Asked<'_>) -> Result<Vec<u8>, WireError> {
    let n_upload = asked.upload_bytes.unwrap_or(0);
    let length = asked.upload_bytes.map_or_else(String::new, |it| it.to_string());
    let uri = match asked.query {
        "" => asked.script.to_owned(),
        query => format!("{}?{query}", asked.script),
    };
    // The parameters of nginx's `fastcgi_params`, without addresses and ports of the client and the server.
    let params = pairs_of(&[
        ("QUERY_STRING", asked.query),
        ("REQUEST_METHOD", if asked.upload_bytes.is_some() { "POST" } else { "GET" }),
        ("CONTENT_TYPE", ""),
        ("CONTENT_LENGTH", &length),
        ("SCRIPT_FILENAME", asked.script),
        ("SCRIPT_NAME", asked.script),
        ("REQUEST_URI", &uri),
        ("DOCUMENT_URI", asked.script),
        ("DOCUMENT_ROOT", "/"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("REQUEST_SCHEME", "http"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("SERVER_SOFTWARE", "looptax"),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("SERVER_NAME", "localhost"),
        ("REDIRECT_STATUS", "200"),
    ])?;
    let flags = if asked.is_last { 0 } else { KEEP_CONNECTION };
    let mut bytes = record(BEGIN_REQUEST, &[0, RESPONDER, flags, 0, 0, 0, 0, 0]);
    bytes.extend(record(PARAMS, &params));
    bytes.extend(record(PARAMS, &[]));
    for piece in vec![b'x'; n_upload].chunks(RECORD_BYTES) {
        bytes.extend(record(STDIN, piece));
    }
    bytes.extend(record(STDIN, &[]));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"Content-type: text/html\r\n\r\n";

    fn page(expected: Option<u64>) -> Page {
        let asked = Asked { answer_bytes: expected, ..Asked::script("/a.php") };
        Page::new(&asked).unwrap()
    }

    fn end() -> Vec<u8> {
        record(END_REQUEST, &[0; 8])
    }

    /// Feeds all answers in pieces of `n_piece` bytes, and returns the data of each answer.
    fn read(page: &mut Page, answers: &[u8], n_piece: usize) -> Result<Vec<Vec<u8>>, WireError> {
        let (mut received, mut found) = (Vec::new(), Vec::new());
        for piece in answers.chunks(n_piece) {
            received.extend_from_slice(piece);
            loop {
                let Some(reply) = page.reply(&received)? else {
                    received.drain(..page.n_passed());
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
        let one = [record(STDOUT, &[HEAD, b"hello"].concat()), end()].concat();
        let three = [record(STDOUT, HEAD), record(STDOUT, b"hel"), record(STDOUT, b"lo"), record(STDOUT, b""), end()];
        let answers = [one.clone(), three.concat(), one].concat();
        for n_piece in 1..answers.len() {
            let found = read(&mut page(Some(5)), &answers, n_piece).unwrap();
            assert_eq!(found, [&b"hello"[..], b"", b"hello"], "{n_piece}");
        }
    }

    #[test]
    fn a_long_page_is_passed_over_as_it_comes() {
        let mut answer = record(STDOUT, HEAD);
        for _ in 0..50 {
            answer.extend(record(STDOUT, &[b'x'; 8000]));
        }
        answer.extend(end());
        let answers = answer.repeat(2);
        assert_eq!(read(&mut page(Some(400_000)), &answers, 10_000).unwrap().len(), 2);
        assert!(read(&mut page(Some(400_001)), &answers, 10_000).is_err());
    }

    #[track_caller]
    fn check_refused(answer: &[u8], words: &str) {
        let error = page(None).reply(answer).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn what_is_no_page_to_measure_is_refused() {
        check_refused(b"HTTP/1.1 400 Bad", "a record of the request");
        check_refused(&record(STDOUT, b"no head"), "the head of a page");
        let missing = b"Status: 404 Not Found\r\nContent-type: text/html\r\n\r\nFile not found.\n";
        check_refused(&record(STDOUT, missing), "404");
        check_refused(&record(STDERR, b"PHP Warning: x"), "PHP Warning");
        check_refused(&record(STDIN, b"x"), "an output record or an end record");
        let overloaded = record(END_REQUEST, &[0, 0, 0, 0, 2, 0, 0, 0]);
        check_refused(&overloaded, "a completed request");
    }

    #[test]
    fn a_body_goes_out_in_records_that_hold_it() {
        let asked = Asked { upload_bytes: Some(70_000), is_last: true, ..Asked::script("/a.php") };
        let mut bytes = Vec::new();
        Page::new(&asked).unwrap().request(&mut 1, &mut bytes);
        assert_eq!(bytes[10], 0, "nobody keeps this connection");
        let (mut at, mut sizes) = (0, Vec::new());
        while let Some((kind, n_content, n_record)) = next_record(&bytes[at..]).unwrap() {
            if kind == STDIN {
                sizes.push(n_content);
            }
            at += n_record;
        }
        assert_eq!((sizes, at), (vec![65_535, 4465, 0], bytes.len()));
    }
}
