//! memcached's logins. In the binary protocol the login is SASL. In the text protocol the login is the first `set` of
//! a connection, whose value is an account and a password; the login exists only if the server has a file of accounts.
//!
//! # Source
//! memcached: `doc/protocol.txt` ("Authentication"); its wiki, `BinaryProtocolRevamped` (read 2026-11).

use super::follow::{Course, Follow, Sender, Unknown, hide};

const TLS_HANDSHAKE: u8 = 0x16;
const REQUEST: u8 = 0x80;
const SASL_AUTH: u8 = 0x21;
const SASL_STEP: u8 = 0x22;
const N_HEADER: usize = 24;
/// Longest line. A key has at most 250 bytes, but a `get` may have many keys.
const MOST_LINE: usize = 64 * 1024;
const STORING: [&[u8]; 7] = [b"set", b"add", b"replace", b"append", b"prepend", b"cas", b"ms"];
/// All commands of the text protocol. A line that begins with any other word belongs to another protocol, and may be a
/// login of that protocol.
const COMMANDS: [&[u8]; 33] = [
    b"set",
    b"add",
    b"replace",
    b"append",
    b"prepend",
    b"cas",
    b"ms",
    b"get",
    b"gets",
    b"gat",
    b"gats",
    b"mg",
    b"md",
    b"ma",
    b"mn",
    b"me",
    b"incr",
    b"decr",
    b"touch",
    b"delete",
    b"flush_all",
    b"stats",
    b"version",
    b"verbosity",
    b"quit",
    b"shutdown",
    b"slabs",
    b"lru",
    b"lru_crawler",
    b"watch",
    b"cache_memlimit",
    b"misbehave",
    b"refresh_certs",
];
/// Answers of a server that has not accepted the client's login yet.
const REFUSED: [&[u8]; 3] = [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"];
/// Number of bytes that are enough to distinguish a refusal from another answer.
const MOST_ANSWER: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Command,
    Line,
    /// A value in the text protocol, including the line end after it.
    Value,
    Header,
    /// Keys and extras before the value of a binary request.
    Keys {
        n_value: u64,
    },
    BinaryValue,
}

pub(super) struct Memcached {
    at: At,
    line: Vec<u8>,
    n_left: u64,
    is_secret: bool,
    /// Whether the server has sent an answer that is not an error.
    is_let_in: bool,
    is_answered: bool,
    answer: Vec<u8>,
    course: Course,
}

impl Memcached {
    pub(super) fn new() -> Self {
        Self {
            at: At::Command,
            line: Vec::new(),
            n_left: 0,
            is_secret: false,
            is_let_in: false,
            is_answered: false,
            answer: Vec::new(),
            course: Course::Plain,
        }
    }

    fn client(&mut self, mut bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown> {
        self.answer.clear();
        while !bytes.is_empty() && self.course == Course::Plain {
            match self.at {
                At::Value | At::BinaryValue | At::Keys { .. } => {
                    let n = bytes.len().min(usize::try_from(self.n_left).unwrap_or(usize::MAX));
                    let (value, rest) = bytes.split_at_mut(n);
                    if self.is_secret && !matches!(self.at, At::Keys { .. }) {
                        hide_value(value, self.n_left, self.at == At::Value, n_hidden);
                    }
                    self.n_left -= n as u64;
                    if self.n_left == 0 {
                        self.end_part();
                    }
                    bytes = rest;
                }
                At::Command | At::Line | At::Header => {
                    self.byte(bytes[0])?;
                    bytes = &mut bytes[1..];
                }
            }
        }
        Ok(())
    }

    fn end_part(&mut self) {
        match self.at {
            At::Keys { n_value: n @ 1.. } => {
                self.n_left = n;
                self.at = At::BinaryValue;
            }
            _ => self.at = At::Command,
        }
    }

    fn byte(&mut self, byte: u8) -> Result<(), Unknown> {
        if self.at == At::Command {
            self.line.clear();
            self.at = match byte {
                TLS_HANDSHAKE => {
                    self.course = Course::Encrypted;
                    return Ok(());
                }
                REQUEST => At::Header,
                b'a'..=b'z' => At::Line,
                _ => return Err(Unknown),
            };
        }
        self.line.push(byte);
        if self.at == At::Line && !may_be_command(&self.line) {
            return Err(Unknown);
        }
        if self.at == At::Header {
            if self.line.len() == N_HEADER {
                self.begin_binary();
            }
        } else if byte == b'\n' {
            self.begin_text()?;
        } else if self.line.len() > MOST_LINE {
            return Err(Unknown);
        }
        Ok(())
    }

    fn begin_binary(&mut self) {
        let header = &self.line;
        let n_body = u64::from(u32::from_be_bytes([header[8], header[9], header[10], header[11]]));
        let n_keys = u64::from(u16::from_be_bytes([header[2], header[3]])) + u64::from(header[4]);
        self.is_secret = matches!(header[1], SASL_AUTH | SASL_STEP);
        self.n_left = n_keys.min(n_body);
        self.at = At::Keys { n_value: n_body - self.n_left };
        if self.n_left == 0 {
            self.end_part();
        }
    }

    fn begin_text(&mut self) -> Result<(), Unknown> {
        self.at = At::Command;
        let mut words = self.line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty());
        let name = words.next().unwrap_or_default();
        if !STORING.contains(&name) {
            return Ok(());
        }
        let length = words.nth(if name == b"ms" { 1 } else { 3 }).ok_or(Unknown)?;
        let length: u32 = std::str::from_utf8(length).ok().and_then(|it| it.parse().ok()).ok_or(Unknown)?;
        self.is_secret = !self.is_let_in;
        self.n_left = u64::from(length) + 2;
        self.at = At::Value;
        Ok(())
    }

    fn server(&mut self, bytes: &[u8]) {
        self.is_answered = true;
        if self.is_let_in || self.answer.len() >= MOST_ANSWER {
            return;
        }
        let n = bytes.len().min(MOST_ANSWER - self.answer.len());
        self.answer.extend_from_slice(&bytes[..n]);
        let may_be = |it: &&[u8]| it.starts_with(&self.answer) || self.answer.starts_with(it);
        self.is_let_in = !REFUSED.iter().any(may_be);
    }
}

fn may_be_command(line: &[u8]) -> bool {
    let n_name = line.iter().position(u8::is_ascii_whitespace);
    COMMANDS.iter().any(|it| n_name.map_or_else(|| it.starts_with(line), |n| *it == &line[..n]))
}

/// Hides a value but keeps the line end after it.
fn hide_value(bytes: &mut [u8], n_left: u64, has_end: bool, n_hidden: &mut u64) {
    let n = if has_end { n_left.saturating_sub(2) } else { n_left };
    let n = bytes.len().min(usize::try_from(n).unwrap_or(usize::MAX));
    hide(&mut bytes[..n], n_hidden);
}

impl Follow for Memcached {
    fn feed(&mut self, sender: Sender, bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown> {
        match sender {
            Sender::Client => self.client(bytes, n_hidden),
            Sender::Server => {
                self.server(bytes);
                Ok(())
            }
        }
    }

    fn skip(&mut self, sender: Sender, n: u64) -> bool {
        let is_value = matches!(self.at, At::Value | At::BinaryValue) && self.n_left > n;
        if sender == Sender::Client && is_value {
            self.n_left -= n;
        }
        sender == Sender::Server || is_value
    }

    fn is_between(&self, sender: Sender) -> bool {
        match sender {
            Sender::Client => self.at == At::Command,
            Sender::Server => self.is_answered,
        }
    }

    fn course(&self) -> Course {
        self.course
    }
}
