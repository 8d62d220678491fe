//! The echo server: the cheapest server there can be, so that what is left is the transport.
//!
//! A thread per connection, blocking receive and send, the same system calls with the same flags on
//! both transports. The loop in `exchange` allocates, locks and logs nothing: its buffers are made
//! once per connection. `looptax internal echo-server` runs it; looptax kills it.
//! The protocol's bytes are in `looptax_wire::echo`.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use looptax_wire::echo::{Hello, Welcome};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};

use crate::ServerError;

/// Waiting connections; the kernel lowers it to `net.core.somaxconn` (4096 since Linux 5.4).
const BACKLOG: i32 = 4096;

/// Stack of a connection's thread: its two buffers are on the heap.
const STACK_BYTES: usize = 64 * 1024;

/// Pause after the kernel had no file or thread left for a connection.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(20);

/// Where the echo server listens.
#[derive(Debug, Clone)]
pub struct Config {
    /// The socket to create.
    pub socket: PathBuf,
    /// The TCP address to listen on.
    pub tcp: SocketAddr,
}

/// Serves both transports until the process is killed.
///
/// # Errors
/// [`ServerError::Echo`] when it cannot listen, or when accepting fails for good.
pub fn serve(config: &Config) -> Result<Infallible, ServerError> {
    let unix = listen_unix(&config.socket)?;
    let tcp = listen_tcp(config.tcp)?;
    let tcp_name = config.tcp.to_string();
    let tcp_thread = thread::Builder::new()
        .name("echo-accept-tcp".to_owned())
        .spawn(move || accept_forever(&tcp, &tcp_name, true))
        .map_err(|source| ServerError::Echo {
            action: "start a thread for",
            object: config.tcp.to_string(),
            source,
        })?;
    let Err(error) = accept_forever(&unix, &config.socket.display().to_string(), false);
    drop(tcp_thread);
    Err(error)
}

fn listen_unix(path: &Path) -> Result<OwnedFd, ServerError> {
    let listen = || -> rustix::io::Result<OwnedFd> {
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(socket)
    };
    listen().map_err(|source| ServerError::Echo {
        action: "listen on",
        object: path.display().to_string(),
        source: source.into(),
    })
}

fn listen_tcp(address: SocketAddr) -> Result<OwnedFd, ServerError> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let listen = || -> rustix::io::Result<OwnedFd> {
        let socket =
            rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(socket)
    };
    listen().map_err(|source| ServerError::Echo {
        action: "listen on",
        object: address.to_string(),
        source: source.into(),
    })
}

/// Gives each connection a thread. A shortage of files or threads passes; anything else is final.
fn accept_forever(listener: &OwnedFd, name: &str, is_tcp: bool) -> Result<Infallible, ServerError> {
    loop {
        match rustix::net::accept_with(listener, SocketFlags::CLOEXEC) {
            Ok(connection) => {
                if is_tcp {
                    // Without it a reply could wait for an acknowledgement; every server here sets it.
                    sockopt::set_tcp_nodelay(&connection, true).ok();
                }
                let thread = thread::Builder::new()
                    .name("echo".to_owned())
                    .stack_size(STACK_BYTES);
                // Without a thread the connection is closed, which the client sees at once.
                if thread.spawn(move || converse(connection.as_fd())).is_err() {
                    thread::sleep(SHORTAGE_PAUSE);
                }
            }
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                thread::sleep(SHORTAGE_PAUSE);
            }
            Err(source) => {
                return Err(ServerError::Echo {
                    action: "accept connections on",
                    object: name.to_owned(),
                    source: source.into(),
                });
            }
        }
    }
}

/// One connection from its hello to its end, whichever way it ends: the client knows why.
fn converse(connection: BorrowedFd<'_>) {
    let Ok(Some(hello)) = answer_hello(connection) else {
        return;
    };
    let mut request = vec![0; hello.request_bytes as usize];
    // Something that is not all zeroes, made before the first request.
    let mut reply: Vec<u8> = (0..hello.reply_bytes)
        .map(|index| b'a' + (index % 26) as u8)
        .collect();
    exchange(connection, &mut request, &mut reply).ok();
}

/// Reads the hello and answers it; `None` when it is none or asks for a size out of bounds.
fn answer_hello(connection: BorrowedFd<'_>) -> io::Result<Option<Hello>> {
    let mut bytes = [0; Hello::BYTES];
    if !receive_whole(connection, &mut bytes)? {
        return Ok(None);
    }
    let Ok(hello) = Hello::decode(bytes) else {
        return Ok(None);
    };
    let tid = rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .cast_unsigned();
    let welcome = Welcome {
        pid: std::process::id(),
        tid,
    };
    send_whole(connection, &welcome.encode())?;
    Ok(Some(hello))
}

/// The measured loop: one receive and one send per request, as long as messages fit the buffers.
///
/// # Cost
/// No allocation; two system calls per request.
fn exchange(connection: BorrowedFd<'_>, request: &mut [u8], reply: &mut [u8]) -> io::Result<()> {
    while receive_whole(connection, request)? {
        reply[..8].copy_from_slice(&request[..8]);
        send_whole(connection, reply)?;
    }
    Ok(())
}

/// Fills the buffer; `false` when the peer closed.
fn receive_whole(connection: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<bool> {
    let mut n_filled = 0;
    while n_filled < buffer.len() {
        match rustix::net::recv(connection, &mut buffer[n_filled..], RecvFlags::empty()) {
            Ok((_, 0)) => return Ok(false),
            Ok((_, n_bytes)) => n_filled += n_bytes,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

fn send_whole(connection: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(connection, bytes, SendFlags::NOSIGNAL) {
            Ok(n_bytes) => bytes = &bytes[n_bytes..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_hello_out_of_bounds_ends_the_conversation() {
        let (mut client, server) = UnixStream::pair().unwrap();
        client
            .write_all(
                &Hello {
                    request_bytes: 7,
                    reply_bytes: 64,
                }
                .encode(),
            )
            .unwrap();
        let served = thread::spawn(move || converse(server.as_fd()));
        assert_eq!(client.read_to_end(&mut Vec::new()).unwrap(), 0);
        served.join().unwrap();
    }

    #[test]
    fn each_reply_starts_with_its_request() {
        let (mut client, server) = UnixStream::pair().unwrap();
        let served = thread::spawn(move || converse(server.as_fd()));
        client
            .write_all(
                &Hello {
                    request_bytes: 16,
                    reply_bytes: 40,
                }
                .encode(),
            )
            .unwrap();
        let mut answer = [0; 12];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(
            answer[..8],
            [*b"LTE1", std::process::id().to_le_bytes()].concat()
        );
        for round in 0..3_u64 {
            client
                .write_all(&[round.to_le_bytes(), [7; 8]].concat())
                .unwrap();
            let mut reply = [0; 40];
            client.read_exact(&mut reply).unwrap();
            assert_eq!(reply[..8], round.to_le_bytes());
        }
        drop(client);
        served.join().unwrap();
    }
}
