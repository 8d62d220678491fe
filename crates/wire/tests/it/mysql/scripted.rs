//! The parts of a scripted server: a stream in memory, packets, greetings, answers.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;
use std::time::Duration;

use looptax_model::dsn::Secret;
use looptax_wire::mysql::Connection;
use looptax_wire::{Channel, Login, WireError};

/// The salt of every greeting in these tests.
pub(super) const SALT: &[u8; 20] = b"abcdefghijklmnopqrst";

pub(super) const LIMIT: Duration = Duration::from_millis(200);

/// The event after the server has sent all its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Close,
    Silence,
}

pub(super) type Heard = Rc<RefCell<Vec<u8>>>;

/// A peer whose bytes are all prepared, and which records the bytes that it receives.
#[derive(Debug, Clone)]
pub(super) struct Scripted {
    sent: io::Cursor<Vec<u8>>,
    end: End,
    heard: Heard,
}

impl Scripted {
    pub(super) fn new(sent: &[u8], end: End) -> Self {
        Self { sent: io::Cursor::new(sent.to_vec()), end, heard: Rc::default() }
    }

    /// Returns a second reference to the bytes that the client writes.
    pub(super) fn heard(&self) -> Heard {
        Rc::clone(&self.heard)
    }
}

impl Read for Scripted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match (self.sent.read(buf)?, self.end) {
            (0, End::Silence) if !buf.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            (n_read, _) => Ok(n_read),
        }
    }
}

impl Write for Scripted {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.heard.borrow_mut().write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    MySql56,
    /// Uses `CLIENT_DEPRECATE_EOF`.
    MySql8,
    /// Uses EOF packets, and a byte about metadata after the column count.
    MariaDb,
}

impl Flavour {
    pub(super) const ALL: [Self; 3] = [Self::MySql56, Self::MySql8, Self::MariaDb];

    fn version(self) -> &'static str {
        match self {
            Self::MySql56 => "5.6.51",
            Self::MySql8 => "8.4.3",
            Self::MariaDb => "5.5.5-10.11.14-MariaDB-0+deb12u2",
        }
    }

    /// Returns all capabilities of the server, including TLS, compression and local files, which looptax must not
    /// request.
    fn capabilities(self) -> [u32; 2] {
        const DEPRECATE_EOF: u32 = 1 << 24;
        match self {
            Self::MySql56 => [!DEPRECATE_EOF, 0],
            Self::MySql8 => [!0, 0],
            Self::MariaDb => [!1, 0x3f],
        }
    }
}

pub(super) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let n_bytes = u32::try_from(payload.len()).expect("short").to_le_bytes();
    let header = [n_bytes[0], n_bytes[1], n_bytes[2], sequence];
    [&header, payload].concat()
}

/// Makes packets in order, numbered from `first`.
pub(super) fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let numbered = payloads.iter().zip(first..);
    numbered.flat_map(|(payload, sequence)| packet(sequence, payload)).collect()
}

pub(super) fn greeting(flavour: Flavour, plugin: &str) -> Vec<u8> {
    let [capabilities, mariadb] = flavour.capabilities();
    let low = (capabilities as u16).to_le_bytes();
    let high = ((capabilities >> 16) as u16).to_le_bytes();
    [
        b"\x0a",
        flavour.version().as_bytes(),
        b"\0",
        &77_u32.to_le_bytes(),
        &SALT[..8],
        b"\0",
        &low,
        b"\x2d\x02\x00",
        &high,
        &[21],
        &[0; 6],
        &mariadb.to_le_bytes(),
        &SALT[8..],
        b"\0",
        plugin.as_bytes(),
        b"\0",
    ]
    .concat()
}

pub(super) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// Returns all bytes of the server up to a successful native login.
pub(super) fn let_in(flavour: Flavour) -> Vec<u8> {
    let greeting = greeting(flavour, "mysql_native_password");
    [packet(0, &greeting), packet(2, OK)].concat()
}

pub(super) fn somebody(password: &str) -> Login {
    Login {
        user: "bench".to_owned(),
        password: Secret::new(password),
        database: Some("sbtest".to_owned()),
        ..Login::default()
    }
}

/// Logs in to a peer that sends `sent` and then closes the connection.
pub(super) fn log_in(
    sent: &[u8],
    password: &str,
    channel: Channel,
) -> (Result<Connection<Scripted>, WireError>, Heard) {
    let stream = Scripted::new(sent, End::Close);
    let heard = stream.heard();
    let outcome = Connection::login(stream, &somebody(password), channel, LIMIT);
    (outcome, heard)
}

/// Returns a connection to a server that sends `sent` after the login.
pub(super) fn connected(flavour: Flavour, sent: &[u8]) -> Connection<Scripted> {
    let all = [let_in(flavour), sent.to_vec()].concat();
    let (outcome, _) = log_in(&all, "secret", Channel::Local);
    outcome.expect("the script lets everybody in")
}

/// Makes a column's definition: only the type matters, not the names.
pub(super) fn definition(kind: u8) -> Vec<u8> {
    let names = b"\x03def\x06sbtest\x06sbtest\x06sbtest\x01c\x01c";
    [&names[..], &[0x0c, 45, 0, 0xe0, 1, 0, 0, kind, 1, 0, 0, 0, 0]].concat()
}

/// Makes the packet that ends definitions, if the flavour has one.
pub(super) fn end_definitions(flavour: Flavour) -> Option<Vec<u8>> {
    (flavour != Flavour::MySql8).then(|| vec![0xfe, 0, 0, 2, 0])
}

pub(super) fn end_rows(flavour: Flavour) -> Vec<u8> {
    match flavour {
        Flavour::MySql8 => vec![0xfe, 0, 0, 2, 0, 0, 0],
        Flavour::MySql56 | Flavour::MariaDb => vec![0xfe, 0, 0, 2, 0],
    }
}

/// Makes a whole result, numbered from 1. `has_definitions` can be false only on MariaDB.
pub(super) fn result(flavour: Flavour, kinds: &[u8], has_definitions: bool, rows: &[&[u8]]) -> Vec<u8> {
    let mut count = vec![u8::try_from(kinds.len()).expect("few")];
    if flavour == Flavour::MariaDb {
        count.push(u8::from(has_definitions));
    }
    let mut payloads = vec![count];
    if has_definitions {
        payloads.extend(kinds.iter().map(|&kind| definition(kind)));
    }
    payloads.extend(end_definitions(flavour));
    payloads.extend(rows.iter().map(|row| row.to_vec()));
    payloads.push(end_rows(flavour));
    let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    packets(1, &payloads)
}

/// Makes the answer to a prepare: statement 0x01020304, `n_params` parameters, columns of `kinds`.
pub(super) fn prepared(flavour: Flavour, n_params: u8, kinds: &[u8]) -> Vec<u8> {
    let n_columns = u8::try_from(kinds.len()).expect("few");
    let mut payloads = vec![vec![0, 4, 3, 2, 1, n_columns, 0, n_params, 0, 0, 0, 0]];
    for list in [&vec![0x08; usize::from(n_params)][..], kinds] {
        payloads.extend(list.iter().map(|&kind| definition(kind)));
        if !list.is_empty() {
            payloads.extend(end_definitions(flavour));
        }
    }
    let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    packets(1, &payloads)
}
