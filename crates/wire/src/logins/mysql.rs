//! MySQL's logins: the client's answer to the greeting, the later messages of an authentication method, and
//! `COM_CHANGE_USER`.
//!
//! # Source
//! The pages of MySQL and MariaDB about their protocol: connection phase, `HandshakeResponse41`, `COM_CHANGE_USER`
//! (read 2026-11).

use super::follow::{Course, Follow, Sender, Unknown, hide};

const CLIENT_COMPRESS: u32 = 0x20;
const CLIENT_PROTOCOL_41: u32 = 0x200;
const CLIENT_SSL: u32 = 0x800;
const CLIENT_SECURE_CONNECTION: u32 = 0x8000;
const CLIENT_PLUGIN_AUTH_LENENC: u32 = 0x20_0000;
const CLIENT_ZSTD: u32 = 0x0400_0000;
/// Length of the fixed beginning of the answer to the greeting: capabilities, largest packet, character set, filler.
const FIXED_BYTES: u32 = 32;
const GREETING: u8 = 10;
const COM_CHANGE_USER: u8 = 0x11;
/// The command with which a replica registers; it contains the replica's account and password.
const COM_REGISTER_SLAVE: u8 = 0x15;
/// Upper bound of MySQL's command numbers. The numbers of MariaDB's own commands begin at 0xf0.
const MOST_COMMAND: u8 = 0x21;
const MARIADB_COMMANDS: u8 = 0xf0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing has been sent yet.
    Greeting,
    /// The next packet is the client's first packet.
    Response,
    /// The login continues until the server accepts it.
    Login,
    Commands,
}

/// Reads the packets of one sender.
#[derive(Debug, Default)]
struct Packets {
    header: [u8; 4],
    n_header: usize,
    n_left: u32,
    /// Number of payload bytes that have passed.
    at: u32,
}

impl Packets {
    fn is_between(&self) -> bool {
        self.n_header == 0
    }

    /// Adds a byte to the header; returns true if the header is now complete.
    fn take_header(&mut self, byte: u8) -> bool {
        self.header[self.n_header] = byte;
        self.n_header += 1;
        if self.n_header < 4 {
            return false;
        }
        self.n_left = self.n_bytes();
        self.at = 0;
        true
    }

    fn n_bytes(&self) -> u32 {
        u32::from_le_bytes([self.header[0], self.header[1], self.header[2], 0])
    }

    fn sequence(&self) -> u8 {
        self.header[3]
    }

    fn pass(&mut self, n: usize) {
        self.n_left -= n as u32;
        self.at += n as u32;
        if self.n_left == 0 {
            self.n_header = 0;
        }
    }

    fn skip(&mut self, n: u64) -> bool {
        let is_within = self.n_header == 4 && u64::from(self.n_left) >= n;
        if is_within {
            self.pass(n as usize);
        }
        is_within
    }
}

/// The kind of the client's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packet {
    Plain,
    Secret,
    Response(Field),
    ChangeUser(Field),
}

/// The field to which the next byte belongs, in a packet with an account and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Fixed,
    User,
    /// The length of the answer. After its first byte is read, `n_more` is the number of further bytes of the length.
    Length {
        n_more: u8,
        n_read: u8,
        n: u64,
    },
    Answer(u64),
    AnswerToNul,
    Rest,
}

pub(super) struct Mysql {
    phase: Phase,
    /// The client's capabilities; `None` if the beginning of the connection was not seen.
    capabilities: Option<u32>,
    client: Packets,
    server: Packets,
    packet: Packet,
    course: Course,
    /// Whether the server has refused the last login.
    is_refused: bool,
    /// Whether the client's packets must have the form of a request. This holds until the server answers the first
    /// request.
    is_strict: bool,
    /// Whether no packet of the server has had the form of an answer yet.
    is_unproved: bool,
}

impl Mysql {
    pub(super) fn new(is_from_its_start: bool) -> Self {
        Self {
            phase: if is_from_its_start { Phase::Greeting } else { Phase::Commands },
            capabilities: is_from_its_start.then_some(0),
            client: Packets::default(),
            server: Packets::default(),
            packet: Packet::Plain,
            course: Course::Plain,
            is_refused: false,
            is_strict: !is_from_its_start,
            is_unproved: !is_from_its_start,
        }
    }

    fn begin_packet(&mut self, first: u8) -> Result<(), Unknown> {
        // The server refused to change the user, and the connection continues.
        if self.phase == Phase::Login && self.is_refused && self.client.sequence() == 0 {
            self.phase = Phase::Commands;
        }
        self.packet = match self.phase {
            Phase::Greeting => return Err(Unknown),
            Phase::Response => Packet::Response(Field::Fixed),
            Phase::Login => Packet::Secret,
            Phase::Commands if self.client.sequence() != 0 => {
                if self.is_strict {
                    return Err(Unknown);
                }
                Packet::Plain
            }
            Phase::Commands => match first {
                COM_CHANGE_USER => {
                    self.phase = Phase::Login;
                    self.is_refused = false;
                    Packet::ChangeUser(Field::Fixed)
                }
                COM_REGISTER_SLAVE => Packet::Secret,
                1..MOST_COMMAND | MARIADB_COMMANDS.. => Packet::Plain,
                _ => return Err(Unknown),
            },
        };
        Ok(())
    }

    fn client(&mut self, mut bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown> {
        while !bytes.is_empty() && self.course == Course::Plain {
            if self.client.n_header < 4 {
                if self.client.take_header(bytes[0]) && self.client.n_left == 0 {
                    // An empty packet ends a file, or it is an empty answer.
                    if self.phase == Phase::Greeting || self.is_strict {
                        return Err(Unknown);
                    }
                    self.client.pass(0);
                    self.end_packet();
                }
                bytes = &mut bytes[1..];
                continue;
            }
            if self.client.at == 0 {
                self.begin_packet(bytes[0])?;
            }
            let n = bytes.len().min(self.client.n_left as usize);
            let (payload, rest) = bytes.split_at_mut(n);
            match self.packet {
                Packet::Plain => {}
                Packet::Secret => hide(payload, n_hidden),
                Packet::Response(_) | Packet::ChangeUser(_) => {
                    for (n_before, byte) in payload.iter_mut().enumerate() {
                        self.account(self.client.at + n_before as u32, byte, n_hidden);
                    }
                }
            }
            self.client.pass(n);
            if self.client.is_between() {
                self.end_packet();
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Processes one byte of a packet that contains an account and its answer.
    fn account(&mut self, at: u32, byte: &mut u8, n_hidden: &mut u64) {
        let is_response = matches!(self.packet, Packet::Response(_));
        let (Packet::Response(field) | Packet::ChangeUser(field)) = &mut self.packet else { return };
        let capabilities = self.capabilities;
        match field {
            Field::Fixed if !is_response => *field = Field::User,
            Field::Fixed => {
                if at < 4 {
                    let known = capabilities.unwrap_or_default();
                    self.capabilities = Some(known & !(0xff << (8 * at)) | u32::from(*byte) << (8 * at));
                }
                if at == 3 && self.capabilities.is_some_and(|it| it & CLIENT_PROTOCOL_41 == 0) {
                    // In the form before version 4.1, the answer is the whole rest of the packet.
                    *field = Field::Answer(u64::MAX);
                } else if at + 1 == FIXED_BYTES {
                    *field = Field::User;
                }
            }
            Field::User if *byte != 0 => {}
            Field::User => {
                let has = |flag: u32| capabilities.is_some_and(|it| it & flag != 0);
                *field = if capabilities.is_none() {
                    Field::Answer(u64::MAX)
                } else if is_response && has(CLIENT_PLUGIN_AUTH_LENENC) {
                    Field::Length { n_more: u8::MAX, n_read: 0, n: 0 }
                } else if has(CLIENT_SECURE_CONNECTION) {
                    Field::Length { n_more: 0, n_read: 0, n: 0 }
                } else {
                    Field::AnswerToNul
                };
            }
            Field::Length { n_more: 0, .. } => *field = Field::of_length(u64::from(*byte)),
            Field::Length { n_more: more @ u8::MAX, .. } => {
                *more = match *byte {
                    252 => 2,
                    253 => 3,
                    254 => 8,
                    n => {
                        *field = Field::of_length(u64::from(n));
                        return;
                    }
                };
            }
            Field::Length { n_more, n_read, n } => {
                *n |= u64::from(*byte) << (8 * *n_read);
                *n_read += 1;
                if n_read == n_more {
                    *field = Field::of_length(*n);
                }
            }
            Field::Answer(n) => {
                *n -= 1;
                let is_last = *n == 0;
                hide(std::slice::from_mut(byte), n_hidden);
                if is_last {
                    *field = Field::Rest;
                }
            }
            Field::AnswerToNul if *byte == 0 => *field = Field::Rest,
            Field::AnswerToNul => hide(std::slice::from_mut(byte), n_hidden),
            Field::Rest => {}
        }
    }

    fn end_packet(&mut self) {
        if self.phase != Phase::Response {
            return;
        }
        let is_tls = self.capabilities.is_some_and(|it| it & CLIENT_SSL != 0) && self.client.n_bytes() == FIXED_BYTES;
        if is_tls {
            self.course = Course::Encrypted;
        }
        self.phase = Phase::Login;
    }

    fn server(&mut self, mut bytes: &[u8]) -> Result<(), Unknown> {
        while !bytes.is_empty() {
            if self.server.n_header < 4 {
                if self.server.take_header(bytes[0]) {
                    // The sequence number of an answer follows that of its request. Without this check, messages of
                    // MySQL's X Protocol would be accepted, because they have the same form.
                    if self.is_unproved && self.server.sequence() == 0 {
                        return Err(Unknown);
                    }
                    self.is_unproved = false;
                    if self.server.n_left == 0 {
                        self.server.pass(0);
                    }
                }
                bytes = &bytes[1..];
                continue;
            }
            let first = (self.server.at == 0).then_some(bytes[0]);
            let n = bytes.len().min(self.server.n_left as usize);
            self.server.pass(n);
            match (self.phase, first) {
                (Phase::Greeting, Some(GREETING)) => self.phase = Phase::Response,
                // The server sent an error instead of the greeting.
                (Phase::Greeting, Some(0xff)) => {}
                (Phase::Greeting, Some(_)) => return Err(Unknown),
                (Phase::Login, Some(0xff)) => self.is_refused = true,
                (Phase::Login, Some(0)) => {
                    self.phase = Phase::Commands;
                    let is_compressed = |it: u32| it & (CLIENT_COMPRESS | CLIENT_ZSTD) != 0;
                    if self.capabilities.is_some_and(is_compressed) {
                        self.course = Course::Opaque;
                    }
                }
                _ => {}
            }
            bytes = &bytes[n..];
        }
        Ok(())
    }
}

impl Field {
    fn of_length(n: u64) -> Self {
        if n == 0 { Self::Rest } else { Self::Answer(n) }
    }
}

impl Follow for Mysql {
    fn feed(&mut self, sender: Sender, bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown> {
        match sender {
            Sender::Client => self.client(bytes, n_hidden),
            Sender::Server => {
                // The first request had the form of a request; later packets may be part of a file.
                self.is_strict = false;
                self.server(bytes)
            }
        }
    }

    fn skip(&mut self, sender: Sender, n: u64) -> bool {
        match sender {
            Sender::Client => self.client.at != 0 && self.packet == Packet::Plain && self.client.skip(n),
            Sender::Server => self.server.at != 0 && self.server.skip(n),
        }
    }

    fn is_between(&self, sender: Sender) -> bool {
        match sender {
            Sender::Client => self.client.is_between(),
            Sender::Server => self.server.is_between() && self.phase == Phase::Commands,
        }
    }

    fn course(&self) -> Course {
        self.course
    }
}
