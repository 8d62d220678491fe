//! PostgreSQL's logins: passwords, SASL messages in both directions, and the keys for cancelling a request.
//!
//! # Source
//! PostgreSQL's documentation, "Frontend/Backend Protocol", "Message Formats" (read 2026-11).

use super::follow::{Course, Follow, Sender, Unknown, hide};

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
/// Longest first packet that the server accepts.
const MOST_STARTUP: u32 = 10_000;
/// First byte of a TLS connection, from a client that starts TLS without a request for it.
const TLS_HANDSHAKE: u8 = 0x16;
/// The message types that clients and servers send. A message of another type does not belong to PostgreSQL's protocol.
const CLIENTS: &[u8] = b"BCDEFHPQSXcdfp";
const SERVERS: &[u8] = b"123ACDEGHIKNRSTVWZcdnstv";
/// Numbers of `AuthenticationOk`, and of the authentication requests whose data do not depend on a secret.
const PLAIN_REQUESTS: [u32; 5] = [0, 3, 5, 7, 10];

/// `AuthenticationSASL`: the client's answer to it begins with the name of a method.
const SASL: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The next packet is the client's first packet; it has no message type.
    First,
    /// The client has asked for encryption.
    Asked,
    Messages,
}

/// Reads the messages of one sender.
#[derive(Debug, Default)]
struct Messages {
    kind: u8,
    header: [u8; 8],
    n_header: usize,
    n_left: u32,
    /// Number of bytes after the header that have passed.
    at: u32,
}

impl Messages {
    fn is_between(&self) -> bool {
        self.n_header == 0
    }

    fn pass(&mut self, n: usize) {
        self.n_left -= n as u32;
        self.at += n as u32;
        if self.n_left == 0 {
            self.n_header = 0;
        }
    }

    /// Adds a byte to the message's header (type and length); returns true if the header is complete.
    fn take_typed(&mut self, byte: u8, kinds: &[u8]) -> Result<bool, Unknown> {
        self.header[self.n_header] = byte;
        self.n_header += 1;
        if self.n_header == 1 && !kinds.contains(&byte) {
            return Err(Unknown);
        }
        if self.n_header < 5 {
            return Ok(false);
        }
        self.kind = self.header[0];
        let n_bytes = self.word(1);
        self.at = 0;
        self.n_left = n_bytes.checked_sub(4).ok_or(Unknown)?;
        Ok(true)
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_be_bytes([self.header[at], self.header[at + 1], self.header[at + 2], self.header[at + 3]])
    }
}

pub(super) struct Postgres {
    phase: Phase,
    client: Messages,
    server: Messages,
    /// The number of the server's authentication request that is being read.
    request: u32,
    /// The number of the last authentication request.
    login: u32,
    /// Whether the next byte of the client's answer belongs to the method's name. After the name, `n_of_length` bytes
    /// of a length follow.
    is_in_name: bool,
    n_of_length: u8,
    is_cancel: bool,
    /// Whether the server waits for the next request.
    is_ready: bool,
    course: Course,
}

impl Postgres {
    pub(super) fn new(is_from_its_start: bool) -> Self {
        Self {
            phase: if is_from_its_start { Phase::First } else { Phase::Messages },
            client: Messages::default(),
            server: Messages::default(),
            request: 0,
            login: 0,
            is_in_name: false,
            n_of_length: 0,
            is_cancel: false,
            is_ready: false,
            course: Course::Plain,
        }
    }

    fn client(&mut self, mut bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown> {
        while !bytes.is_empty() && self.course == Course::Plain {
            let n_of_header = if self.phase == Phase::Messages { 5 } else { 8 };
            if self.client.n_header < n_of_header {
                self.client_header(bytes[0])?;
                bytes = &mut bytes[1..];
            } else {
                let n = bytes.len().min(self.client.n_left as usize);
                let (payload, rest) = bytes.split_at_mut(n);
                if self.phase == Phase::Messages && self.client.kind == b'p' {
                    self.answer(payload, n_hidden);
                } else if self.is_cancel {
                    // The process id stays readable; the key after it is hidden.
                    let from = n.min(4_u32.saturating_sub(self.client.at) as usize);
                    hide(&mut payload[from..], n_hidden);
                }
                self.client.pass(n);
                if self.client.is_between() && self.phase == Phase::First {
                    self.phase = Phase::Messages;
                }
                bytes = rest;
            }
        }
        Ok(())
    }

    /// Hides a password, or a message of SASL or GSS. The method's name and the zero byte at the end of a text stay,
    /// because dissectors need them.
    fn answer(&mut self, payload: &mut [u8], n_hidden: &mut u64) {
        let mut n_plain = 0;
        if self.client.at == 0 {
            self.is_in_name = self.login == SASL;
            self.n_of_length = 0;
        }
        while n_plain < payload.len() && (self.is_in_name || self.n_of_length > 0) {
            if self.is_in_name {
                if payload[n_plain] == 0 {
                    (self.is_in_name, self.n_of_length) = (false, 4);
                }
            } else {
                self.n_of_length -= 1;
            }
            n_plain += 1;
        }
        let ends = self.client.n_left as usize == payload.len() && payload.last() == Some(&0);
        let n = payload.len() - usize::from(ends);
        if n_plain < n {
            hide(&mut payload[n_plain..n], n_hidden);
        }
    }

    fn client_header(&mut self, byte: u8) -> Result<(), Unknown> {
        if self.phase == Phase::Messages {
            self.is_ready = false;
            if self.client.take_typed(byte, CLIENTS)? && self.client.n_left == 0 {
                self.client.pass(0);
            }
            return Ok(());
        }
        if self.phase == Phase::Asked {
            // The client continued before the server had answered.
            return Err(Unknown);
        }
        if self.client.n_header == 0 && byte == TLS_HANDSHAKE {
            self.course = Course::Encrypted;
            return Ok(());
        }
        let it = &mut self.client;
        it.header[it.n_header] = byte;
        it.n_header += 1;
        if it.n_header < 8 {
            return Ok(());
        }
        let (n_bytes, code) = (it.word(0), it.word(4));
        if !(8..=MOST_STARTUP).contains(&n_bytes) {
            return Err(Unknown);
        }
        (it.n_left, it.at) = (n_bytes - 8, 0);
        match code {
            SSL_REQUEST | GSS_REQUEST if it.n_left == 0 => {
                it.pass(0);
                self.phase = Phase::Asked;
            }
            CANCEL_REQUEST => self.is_cancel = true,
            _ if code >> 16 == 3 && it.n_left > 0 => {}
            _ => return Err(Unknown),
        }
        Ok(())
    }

    fn server(&mut self, mut bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown> {
        while !bytes.is_empty() && self.course == Course::Plain {
            if self.phase == Phase::Asked {
                match bytes[0] {
                    b'S' => self.course = Course::Encrypted,
                    b'G' => self.course = Course::Opaque,
                    b'N' => self.phase = Phase::First,
                    // A server that does not know this request sends an error and closes the connection.
                    b'E' => self.phase = Phase::Messages,
                    _ => return Err(Unknown),
                }
                if self.phase != Phase::Messages {
                    bytes = &mut bytes[1..];
                }
                continue;
            }
            if self.server.n_header < 5 {
                self.is_ready = false;
                if self.server.take_typed(bytes[0], SERVERS)? {
                    self.request = 0;
                    if self.server.n_left == 0 {
                        self.server.pass(0);
                    }
                }
                bytes = &mut bytes[1..];
                continue;
            }
            let n = bytes.len().min(self.server.n_left as usize);
            let (payload, rest) = bytes.split_at_mut(n);
            if matches!(self.server.kind, b'R' | b'K') {
                for (n_before, byte) in payload.iter_mut().enumerate() {
                    self.secret_of_server(self.server.at + n_before as u32, byte, n_hidden);
                }
            }
            self.server.pass(n);
            self.is_ready = self.server.is_between() && self.server.kind == b'Z';
            bytes = rest;
        }
        Ok(())
    }

    /// Hides a byte of the server's message if it is secret. With the server's SASL data, an attacker could test
    /// guesses of the password; the key for cancelling a request is itself a secret.
    fn secret_of_server(&mut self, at: u32, byte: &mut u8, n_hidden: &mut u64) {
        let is_request = self.server.kind == b'R';
        if at < 4 {
            self.request = self.request << 8 | u32::from(*byte);
            if is_request && at == 3 {
                self.login = self.request;
            }
        } else if !is_request || !PLAIN_REQUESTS.contains(&self.request) {
            hide(std::slice::from_mut(byte), n_hidden);
        }
    }
}

impl Follow for Postgres {
    fn feed(&mut self, sender: Sender, bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown> {
        match sender {
            Sender::Client => self.client(bytes, n_hidden),
            Sender::Server => self.server(bytes, n_hidden),
        }
    }

    fn skip(&mut self, sender: Sender, n: u64) -> bool {
        let it = match sender {
            Sender::Client => &mut self.client,
            Sender::Server => &mut self.server,
        };
        let is_within = self.phase == Phase::Messages && it.n_header == 5 && u64::from(it.n_left) >= n;
        if is_within && !matches!(it.kind, b'R' | b'K' | b'p') {
            it.pass(n as usize);
            return true;
        }
        false
    }

    fn is_between(&self, sender: Sender) -> bool {
        match sender {
            Sender::Client => self.client.is_between(),
            Sender::Server => self.server.is_between() && self.is_ready,
        }
    }

    fn course(&self) -> Course {
        self.course
    }
}
