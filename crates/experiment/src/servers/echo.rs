//! The echo server: does as little work as a server can do, so that a measurement shows only the transport. It can also
//! be the upstream of a web server (`http`).
//!
//! Each connection has a thread, which receives and sends with blocking calls; the system calls and their flags are the
//! same on both transports. If there are thousands of connections, a single thread serves all of them (`one_thread`).
//! The loops in `exchange` and `swallow` do not allocate, lock or log: their buffers are made once per connection.
//! `looptax internal echo-server` runs the server, and looptax kills it at the end. The bytes of the protocol are
//! defined in `looptax_wire::echo`.

mod connection;
mod http;
mod listen;
mod one_thread;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::thread;

use looptax_wire::echo::{Hello, Traffic};
use rustix::io::Errno;
use rustix::net::{SocketFlags, sockopt};

use crate::servers::ServerError;
use connection::{
    SHORTAGE_PAUSE, STREAM_BUFFER_BYTES, pattern, receive_some, receive_whole, send_whole, set_up, welcome,
};
use listen::Listener;

/// Stack size of a connection's thread in bytes. The thread's two buffers are on the heap.
const STACK_BYTES: usize = 64 * 1024;

/// The addresses on which the echo server listens, and how it serves.
#[derive(Debug, Clone)]
pub struct Config {
    pub socket: PathBuf,
    /// The name of an abstract socket to create, if any.
    pub abstract_name: Option<String>,
    pub tcp: Vec<SocketAddr>,
    pub is_one_thread: bool,
    /// Whether the server speaks HTTP instead of its own protocol; it then always has a thread for each connection.
    pub is_http: bool,
}

/// The setting in the record which shows that one thread of the server serves all connections.
pub const ONE_THREAD: (&str, &str) = ("threads", "one for all connections");

/// Maximum number of connections that have a thread each; if there are more connections, one thread serves all of them.
/// A thread needs four memory mappings, and the kernel allows a process 65,530 mappings (`vm.max_map_count`).
pub(crate) const MOST_THREADS: u32 = 10_000;

/// Serves all transports until the process is killed.
///
/// # Errors
/// [`ServerError::Echo`] if it cannot listen, or if accepting fails permanently.
pub fn serve(config: &Config) -> Result<Infallible, ServerError> {
    let first = Listener::unix(&config.socket)?;
    let mut further = Vec::new();
    if let Some(name) = &config.abstract_name {
        further.push(Listener::in_namespace(name)?);
    }
    for address in &config.tcp {
        further.push(Listener::tcp(*address)?);
    }
    if config.is_one_thread {
        further.insert(0, first);
        return one_thread::serve(&further).map_err(|source| ServerError::Echo {
            action: "serve",
            object: config.socket.display().to_string(),
            source,
        });
    }
    for listener in further {
        let name = listener.name.clone();
        let is_http = config.is_http;
        let accept = move || {
            let Err(error) = accept_forever(&listener, is_http);
            error
        };
        thread::Builder::new().name("echo-accept".to_owned()).spawn(accept).map_err(|source| ServerError::Echo {
            action: "start a thread for",
            object: name,
            source,
        })?;
    }
    accept_forever(&first, config.is_http)
}

/// Starts a thread for each connection. A lack of file descriptors or threads is temporary; any other error ends the
/// server.
fn accept_forever(listener: &Listener, is_http: bool) -> Result<Infallible, ServerError> {
    let is_tcp = listener.is_tcp;
    loop {
        match rustix::net::accept_with(&listener.socket, SocketFlags::CLOEXEC) {
            Ok(connection) => {
                let thread = thread::Builder::new().name("echo".to_owned()).stack_size(STACK_BYTES);
                // If no thread can be started, the connection is closed, and the client sees this immediately.
                if thread
                    .spawn(move || {
                        if is_http {
                            set_nodelay(connection.as_fd(), is_tcp);
                            http::serve(connection.as_fd());
                        } else {
                            converse(connection.as_fd(), is_tcp);
                        }
                    })
                    .is_err()
                {
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
                    object: listener.name.clone(),
                    source: source.into(),
                });
            }
        }
    }
}

/// Serves one connection from its hello to its end. Errors are ignored: the client sees that the connection ended, and
/// reports why.
fn converse(connection: BorrowedFd<'_>, is_tcp: bool) {
    let Ok(Some(hello)) = answer_hello(connection) else {
        return;
    };
    set_up(connection, hello, is_tcp);
    let ended = match hello.traffic {
        Traffic::PingPong { request_bytes, reply_bytes } => {
            let mut request = vec![0; request_bytes as usize];
            let mut reply = pattern(reply_bytes as usize);
            exchange(connection, &mut request, &mut reply)
        }
        Traffic::Stream { bytes } => {
            let mut buffer = vec![0; STREAM_BUFFER_BYTES];
            swallow(connection, &mut buffer, bytes)
        }
    };
    // The client sees the end of the connection, and reports why.
    ended.ok();
}

/// Sets `TCP_NODELAY`, as every web server does.
fn set_nodelay(connection: impl AsFd, is_tcp: bool) {
    if is_tcp {
        sockopt::set_tcp_nodelay(connection, true).ok();
    }
}

/// Reads the hello and replies to it; `None` if the bytes are not a hello, or if it requests a size outside the limits.
fn answer_hello(connection: BorrowedFd<'_>) -> io::Result<Option<Hello>> {
    let mut bytes = [0; Hello::BYTES];
    if !receive_whole(connection, &mut bytes)? {
        return Ok(None);
    }
    let Ok(hello) = Hello::decode(bytes) else {
        return Ok(None);
    };
    send_whole(connection, &welcome().encode())?;
    Ok(Some(hello))
}

/// The measured loop: one receive and one send per request, as long as the messages fit into the buffers.
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

/// The measured loop of streams: counts `bytes` bytes, then sends their first eight back.
///
/// # Cost
/// No allocation; one receive per piece that has arrived, one send per stream.
fn swallow(connection: BorrowedFd<'_>, buffer: &mut [u8], bytes: u64) -> io::Result<()> {
    let mut key = [0; 8];
    while receive_whole(connection, &mut key)? {
        let mut n_left = bytes - key.len() as u64;
        while n_left > 0 {
            let n_room = n_left.min(buffer.len() as u64) as usize;
            let n_bytes = receive_some(connection, &mut buffer[..n_room])?;
            if n_bytes == 0 {
                return Ok(());
            }
            n_left -= n_bytes as u64;
        }
        send_whole(connection, &key)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use looptax_wire::echo::Welcome;

    use super::*;

    /// Opens a conversation with `hello`, and reads the server's welcome.
    fn greeted(hello: Hello) -> (UnixStream, thread::JoinHandle<()>) {
        let (mut client, server) = UnixStream::pair().unwrap();
        let served = thread::spawn(move || converse(server.as_fd(), false));
        client.write_all(&hello.encode()).unwrap();
        let mut answer = [0; Welcome::BYTES];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(Welcome::decode(answer).unwrap().pid, std::process::id());
        (client, served)
    }

    #[test]
    fn a_hello_out_of_bounds_ends_the_conversation() {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(&Hello::ping_pong(7, 64).encode()).unwrap();
        let served = thread::spawn(move || converse(server.as_fd(), false));
        assert_eq!(client.read_to_end(&mut Vec::new()).unwrap(), 0);
        served.join().unwrap();
    }

    #[test]
    fn each_reply_starts_with_its_request() {
        let (mut client, served) = greeted(Hello::ping_pong(16, 40));
        for round in 0..3_u64 {
            client.write_all(&[round.to_le_bytes(), [7; 8]].concat()).unwrap();
            let mut reply = [0; 40];
            client.read_exact(&mut reply).unwrap();
            assert_eq!(reply[..8], round.to_le_bytes());
        }
        drop(client);
        served.join().unwrap();
    }

    #[test]
    fn a_stream_is_answered_when_its_last_byte_is_in() {
        let bytes = 3 * STREAM_BUFFER_BYTES as u64 + 5;
        let traffic = Traffic::Stream { bytes };
        let (mut client, served) = greeted(Hello { traffic, is_nodelay: true });
        for key in 1..=2_u64 {
            let mut stream = vec![7; bytes as usize];
            stream[..8].copy_from_slice(&key.to_le_bytes());
            let (last, most) = stream.split_last().unwrap();
            client.write_all(most).unwrap();
            client.set_nonblocking(true).unwrap();
            let early = client.read(&mut [0; 8]).unwrap_err();
            assert_eq!(early.kind(), io::ErrorKind::WouldBlock);
            client.set_nonblocking(false).unwrap();
            client.write_all(&[*last]).unwrap();
            let mut reply = [0; 8];
            client.read_exact(&mut reply).unwrap();
            assert_eq!(reply, key.to_le_bytes());
        }
        drop(client);
        served.join().unwrap();
    }
}
