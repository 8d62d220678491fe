//! Checks on each address of a server whether the server is ready. The check uses the first bytes of the server's own
//! protocol.
//!
//! Uses no client library. `server` repeats the check until the server is ready, or until the time limit.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use looptax_model::dsn::Protocol;
use looptax_wire::echo::{Hello, Welcome};
use looptax_wire::{Login, fastcgi, mongodb, upstream};
use procfs::net::TcpState;
use procfs::process::{FDTarget, Process};

/// Time limit for one reply. A server that needs longer is checked again until the deadline.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// Whether the server replies on all addresses on which it should listen, and the port really belongs to the server.
pub(crate) fn is_ready(
    protocol: Protocol,
    login: &Login,
    socket: Option<&Path>,
    tcp: Option<SocketAddr>,
    pid: u32,
) -> bool {
    let over_unix = |socket| -> io::Result<bool> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        stream.set_write_timeout(Some(ANSWER_LIMIT))?;
        ask(protocol, login, &mut stream)
    };
    let over_tcp = |tcp| -> io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&tcp, ANSWER_LIMIT)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        stream.set_write_timeout(Some(ANSWER_LIMIT))?;
        ask(protocol, login, &mut stream)
    };
    // An error means "not ready yet": the connection was refused or closed, or the server is still starting. If the
    // error persists, the server's log shows the cause. The port's owner is checked before anything is sent, because
    // another program's server must not get the password.
    socket.is_none_or(|socket| over_unix(socket).unwrap_or(false))
        && tcp.is_none_or(|tcp| listens_on(pid, tcp) && over_tcp(tcp).unwrap_or(false))
}

/// Whether the process holds a listening socket on this address. Another program may have taken the port after looptax
/// chose it and before the server started.
fn listens_on(pid: u32, tcp: SocketAddr) -> bool {
    let listeners: Vec<u64> = procfs::net::tcp()
        .unwrap_or_default()
        .into_iter()
        .filter(|entry| entry.state == TcpState::Listen && entry.local_address == tcp)
        .map(|entry| entry.inode)
        .collect();
    let files = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok()).and_then(|process| process.fd().ok());
    files.is_some_and(|files| {
        files.flatten().any(|file| matches!(file.target, FDTarget::Socket(inode) if listeners.contains(&inode)))
    })
}

fn ask(protocol: Protocol, login: &Login, stream: &mut (impl Read + Write)) -> io::Result<bool> {
    match protocol {
        // Once the server has executed the init file, it sends a greeting of protocol 10 without being asked.
        Protocol::Mysql => {
            // Three bytes of length, one byte of sequence number, then the version of the protocol.
            let mut greeting = [0; 5];
            stream.read_exact(&mut greeting)?;
            Ok(greeting[4] == 10)
        }
        // The server replies to a startup packet with a request for the password, and not with an error.
        Protocol::Postgres => {
            stream.write_all(&startup_packet(login))?;
            let mut kind = [0];
            stream.read_exact(&mut kind)?;
            Ok(kind == *b"R")
        }
        // The server accepts the password and replies to PING.
        Protocol::Redis => {
            write!(stream, "AUTH {}\r\nPING\r\n", login.password.reveal())?;
            let expected = b"+OK\r\n+PONG\r\n";
            let mut answer = [0; 12];
            stream.read_exact(&mut answer)?;
            Ok(answer == *expected)
        }
        Protocol::Memcached => {
            stream.write_all(b"version\r\n")?;
            let mut answer = [0; 8];
            stream.read_exact(&mut answer)?;
            Ok(answer == *b"VERSION ")
        }
        // The login checks that the account exists, because the server makes the account only after it has begun to
        // listen.
        Protocol::Mongodb => {
            mongodb::Connection::login(stream, login, ANSWER_LIMIT).map(|_| true).map_err(io::Error::other)
        }
        // The hello is a complete request, to which looptax's own script on the server replies.
        Protocol::Fastcgi => fastcgi::Connection::hello(stream, login.place(), ANSWER_LIMIT)
            .map(|it| it.worker().is_some())
            .map_err(io::Error::other),
        Protocol::Http => upstream::Connection::hello(stream, login.place(), ANSWER_LIMIT)
            .map(|it| it.worker().is_some())
            .map_err(io::Error::other),
        Protocol::Echo => {
            stream.write_all(&Hello::ping_pong(8, 8).encode())?;
            let mut answer = [0; Welcome::BYTES];
            stream.read_exact(&mut answer)?;
            Ok(Welcome::decode(answer).is_ok())
        }
    }
}

/// Returns PostgreSQL's first packet: length, protocol 3.0, names and values.
///
/// # Source
/// PostgreSQL 15 manual, 55.7 "Message Formats", `StartupMessage`.
fn startup_packet(login: &Login) -> Vec<u8> {
    let database = login.database.as_deref().unwrap_or(&login.user);
    let parameters = format!("user\0{}\0database\0{database}\0\0", login.user);
    let length = u32::try_from(8 + parameters.len()).expect("names are short");
    let mut packet = length.to_be_bytes().to_vec();
    packet.extend_from_slice(&0x0003_0000_u32.to_be_bytes());
    packet.extend_from_slice(parameters.as_bytes());
    packet
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A stream that returns fixed bytes, no matter what is sent.
    struct Scripted(&'static [u8]);

    impl Read for Scripted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Scripted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[track_caller]
    fn check(protocol: Protocol, answer: &'static [u8], expected: bool) {
        let is_ready = ask(protocol, &Login::default(), &mut Scripted(answer)).unwrap_or(false);
        assert_eq!(is_ready, expected, "{protocol:?}: {answer:?}");
    }

    #[test]
    fn only_the_answer_of_a_ready_server_counts() {
        check(Protocol::Mysql, b"\x5a\0\0\0\x0a10.11", true);
        check(Protocol::Mysql, b"\x5a\0\0\0\xff\x10\x04Too many connections", false);
        check(Protocol::Mysql, b"", false);
        check(Protocol::Postgres, b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0", true);
        check(Protocol::Postgres, b"E\0\0\0\x50SFATAL\0C57P03\0Mthe database system is starting up\0\0", false);
        check(Protocol::Redis, b"+OK\r\n+PONG\r\n", true);
        check(Protocol::Redis, b"-WRONGPASS invalid username-password pair", false);
        check(Protocol::Memcached, b"VERSION 1.6.18\r\n", true);
        check(Protocol::Memcached, b"SERVER_ERROR busy\r\n", false);
        check(Protocol::Echo, b"LTE2\x01\0\0\0\x02\0\0\0", true);
        check(Protocol::Echo, b"HTTP/1.1 400", false);
    }

    #[test]
    fn a_port_belongs_to_the_process_that_listens_there() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(listens_on(std::process::id(), address));
        assert!(!listens_on(1, address));
        drop(listener);
        assert!(!listens_on(std::process::id(), address));
    }
}
