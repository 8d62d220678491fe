//! `caching_sha2_password` on a real MySQL: which bytes are exchanged before the server has a password in its cache,
//! and after that.
//!
//! Called by `main`, only for MySQL. A stream that records all bytes is between the client and the server.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use looptax_experiment::servers::PrivateServer;
use looptax_model::dsn::{Kind, Secret};
use looptax_wire::{Channel, Login, mysql};

use crate::live::{reaper, root, start};

const LIMIT: Duration = Duration::from_secs(30);
/// The beginning of a public key in the text form in which MySQL sends it.
const KEY: &[u8] = b"-----BEGIN PUBLIC KEY-----";

#[derive(Default)]
struct Heard {
    sent: Vec<u8>,
    received: Vec<u8>,
}

/// A stream that records the bytes that are sent and received.
struct Recorded<S> {
    stream: S,
    heard: Rc<RefCell<Heard>>,
}

impl<S: Read> Read for Recorded<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.stream.read(bytes)?;
        let mut heard = self.heard.borrow_mut();
        heard.received.extend_from_slice(&bytes[..n_bytes]);
        Ok(n_bytes)
    }
}

impl<S: Write> Write for Recorded<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_bytes = self.stream.write(bytes)?;
        self.heard.borrow_mut().sent.extend_from_slice(&bytes[..n_bytes]);
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Exchange {
    key_came: bool,
    password_went_in_clear: bool,
}

const FAST: Exchange = Exchange { key_came: false, password_went_in_clear: false };
const BY_KEY: Exchange = Exchange { key_came: true, password_went_in_clear: false };
const IN_CLEAR: Exchange = Exchange { key_came: false, password_went_in_clear: true };

/// Logs in over `stream`.
#[track_caller]
fn log_in(login: &Login, stream: impl Read + Write, channel: Channel) -> Exchange {
    let heard = Rc::new(RefCell::new(Heard::default()));
    let recorded = Recorded { stream, heard: Rc::clone(&heard) };
    let mut connection = mysql::Connection::login(recorded, login, channel, LIMIT).unwrap();
    assert_eq!(connection.auth_plugin(), "caching_sha2_password");
    connection.execute("DO 0").unwrap();
    let heard = heard.borrow();
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|it| it == part);
    Exchange {
        key_came: holds(&heard.received, KEY),
        password_went_in_clear: holds(&heard.sent, login.password.reveal().as_bytes()),
    }
}

#[track_caller]
fn over_tcp(server: &PrivateServer, login: &Login) -> Exchange {
    let stream = TcpStream::connect(server.tcp).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    log_in(login, stream, Channel::PlainTcp)
}

#[track_caller]
fn over_socket(server: &PrivateServer, login: &Login) -> Exchange {
    log_in(login, socket(server), Channel::Local)
}

fn socket(server: &PrivateServer) -> UnixStream {
    let stream = UnixStream::connect(&server.socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Creates an account whose password the server has not seen yet. `FLUSH PRIVILEGES` would not be enough: MySQL 9.7
/// keeps its cache of passwords.
fn new_account(server: &PrivateServer) -> Login {
    const PASSWORD: &str = "never used before";
    let mut connection = mysql::Connection::login(socket(server), &server.login, Channel::Local, LIMIT).unwrap();
    for sql in [
        format!("CREATE USER 'other'@'%' IDENTIFIED BY '{PASSWORD}'"),
        "GRANT ALL ON looptax.* TO 'other'@'%'".to_owned(),
    ] {
        connection.execute(&sql).unwrap();
    }
    Login { user: "other".to_owned(), password: Secret::new(PASSWORD), ..server.login.clone() }
}

pub(crate) fn cold_and_warm(kind: Kind) {
    let (root, reaper) = (root(), reaper());
    let server = start(kind, root.path(), &reaper);
    // No client has logged in since the server started, so the server has only the hash of the password.
    assert_eq!(over_tcp(&server, &server.login), BY_KEY);
    assert_eq!(over_tcp(&server, &server.login), FAST);
    // The cache that a login over one transport has filled also serves the other transport.
    assert_eq!(over_socket(&server, &server.login), FAST);
    let other = new_account(&server);
    assert_eq!(over_socket(&server, &other), IN_CLEAR);
    assert_eq!(over_socket(&server, &other), FAST);
    assert_eq!(over_tcp(&server, &other), FAST);
    server.stop().unwrap();
}
