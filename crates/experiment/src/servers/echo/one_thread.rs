//! Serves all connections with one thread, so that there can be more connections than a process can have threads.
//!
//! One epoll watches all listeners and all connections, as in Redis. The thread never blocks on a single connection: if
//! a reply does not fit into a socket's buffer, the rest is sent when the socket is ready. A connection takes a few
//! hundred bytes of memory; all connections share the buffers.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use looptax_wire::echo::{Hello, Traffic};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags};

use super::connection::{SHORTAGE_PAUSE, STREAM_BUFFER_BYTES, pattern, set_up, welcome};
use super::listen::Listener;

const MOST_EVENTS: usize = 256;
/// The epoll number of the first listener. Each further listener has the next number, and all connections have smaller
/// numbers.
const LISTENERS: u64 = 1 << 32;
const KEY_BYTES: usize = 8;

/// Serves the listeners until the process is killed.
///
/// # Errors
/// Epoll fails, or connections can no longer be accepted.
pub(super) fn serve(listeners: &[Listener]) -> io::Result<Infallible> {
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (number, listener) in (LISTENERS..).zip(listeners) {
        rustix::io::ioctl_fionbio(&listener.socket, true)?;
        epoll::add(&poller, &listener.socket, EventData::new_u64(number), EventFlags::IN)?;
    }
    let mut peers = Peers::default();
    let mut room = Room { received: vec![0; STREAM_BUFFER_BYTES], reply: Vec::new() };
    let mut events = Vec::with_capacity(MOST_EVENTS);
    loop {
        events.clear();
        match epoll::wait(&poller, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        for event in &events {
            match event.data.u64() {
                number @ LISTENERS.. => {
                    accept(&listeners[(number - LISTENERS) as usize], &poller, &mut peers)?;
                }
                idx => {
                    let idx = idx as usize;
                    let event_data = EventData::new_u64(idx as u64);
                    let served = peers.all[idx]
                        .as_mut()
                        .map(|peer| peer.serve(&mut room).and_then(|wants| peer.wait_for(wants, &poller, event_data)));
                    if matches!(served, Some(Err(_))) {
                        // The client sees the end of the connection, and reports why.
                        peers.remove(idx);
                    }
                }
            }
        }
    }
}

/// Accepts one connection; a lack of file descriptors is not an error.
fn accept(listener: &Listener, poller: &OwnedFd, peers: &mut Peers) -> io::Result<()> {
    match rustix::net::accept_with(&listener.socket, SocketFlags::CLOEXEC) {
        Ok(connection) => {
            let idx = peers.add(Peer::new(connection, listener.is_tcp));
            let connection = peers.all[idx].as_ref().map(|peer| peer.connection.as_fd());
            let added = connection.map_or(Ok(()), |connection| {
                epoll::add(poller, connection, EventData::new_u64(idx as u64), EventFlags::IN)
            });
            if added.is_err() {
                peers.remove(idx);
            }
            Ok(())
        }
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(()),
        Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
            thread::sleep(SHORTAGE_PAUSE);
            Ok(())
        }
        Err(errno) => Err(errno.into()),
    }
}

/// All connections, by their numbers; a number is reused after its connection has closed.
#[derive(Default)]
struct Peers {
    all: Vec<Option<Peer>>,
    free: Vec<usize>,
}

impl Peers {
    fn add(&mut self, peer: Peer) -> usize {
        if let Some(idx) = self.free.pop() {
            self.all[idx] = Some(peer);
            return idx;
        }
        self.all.push(Some(peer));
        self.all.len() - 1
    }

    /// Closes a connection; this also removes it from the epoll.
    fn remove(&mut self, idx: usize) {
        if self.all[idx].take().is_some() {
            self.free.push(idx);
        }
    }
}

struct Room {
    received: Vec<u8>,
    /// A buffer of the size of the longest reply; its first bytes are set to the request's key.
    reply: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    Bytes,
    Room,
}

struct Peer {
    connection: OwnedFd,
    is_tcp: bool,
    waits_for: Wants,
    /// The client's request; `None` until it has arrived.
    asked: Option<Asked>,
    /// The first bytes of a hello or a request.
    head: [u8; Hello::BYTES],
    /// Number of bytes of the request that have been received.
    n_received: u64,
    /// Number of bytes of the reply that have been sent.
    n_sent: usize,
}

#[derive(Clone, Copy)]
struct Asked {
    request_bytes: u64,
    reply_bytes: usize,
}

impl From<Traffic> for Asked {
    fn from(traffic: Traffic) -> Self {
        match traffic {
            Traffic::PingPong { request_bytes, reply_bytes } => {
                Self { request_bytes: u64::from(request_bytes), reply_bytes: reply_bytes as usize }
            }
            Traffic::Stream { bytes } => Self { request_bytes: bytes, reply_bytes: KEY_BYTES },
        }
    }
}

impl Peer {
    fn new(connection: OwnedFd, is_tcp: bool) -> Self {
        Self {
            connection,
            is_tcp,
            waits_for: Wants::Bytes,
            asked: None,
            head: [0; Hello::BYTES],
            n_received: 0,
            n_sent: 0,
        }
    }

    /// Continues the connection's current step as far as possible without waiting. After an error, the caller closes
    /// the connection.
    fn serve(&mut self, room: &mut Room) -> io::Result<Wants> {
        let Some(asked) = self.asked else {
            return self.greet(room);
        };
        if self.waits_for == Wants::Room {
            return self.reply(asked, room);
        }
        if self.receive(asked.request_bytes, &mut room.received)? {
            return self.reply(asked, room);
        }
        Ok(Wants::Bytes)
    }

    fn greet(&mut self, room: &mut Room) -> io::Result<Wants> {
        if self.receive(Hello::BYTES as u64, &mut room.received)? {
            let hello = Hello::decode(self.head).map_err(|_| io::ErrorKind::InvalidData)?;
            set_up(&self.connection, hello, self.is_tcp);
            // A new socket's buffer is empty, so the welcome always fits into it.
            send(&self.connection, &welcome().encode())?;
            let asked = Asked::from(hello.traffic);
            if room.reply.len() < asked.reply_bytes {
                room.reply = pattern(asked.reply_bytes);
            }
            self.asked = Some(asked);
            self.n_received = 0;
        }
        Ok(Wants::Bytes)
    }

    /// Receives once; returns true if all `n_whole` bytes have arrived.
    fn receive(&mut self, n_whole: u64, received: &mut [u8]) -> io::Result<bool> {
        let n_room = (n_whole - self.n_received).min(received.len() as u64) as usize;
        let n = match rustix::net::recv(&self.connection, &mut received[..n_room], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((_, n)) => n,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        };
        let n_head = self.head.len().min(self.n_received as usize);
        let part = n.min(self.head.len() - n_head);
        self.head[n_head..n_head + part].copy_from_slice(&received[..part]);
        self.n_received += n as u64;
        Ok(self.n_received == n_whole)
    }

    /// Sends as much of the reply as fits into the socket's buffer.
    fn reply(&mut self, asked: Asked, room: &mut Room) -> io::Result<Wants> {
        let reply = &mut room.reply[..asked.reply_bytes];
        reply[..KEY_BYTES].copy_from_slice(&self.head[..KEY_BYTES]);
        self.n_sent += send(&self.connection, &reply[self.n_sent..])?;
        if self.n_sent < asked.reply_bytes {
            return Ok(Wants::Room);
        }
        (self.n_sent, self.n_received) = (0, 0);
        Ok(Wants::Bytes)
    }

    fn wait_for(&mut self, wants: Wants, poller: &OwnedFd, data: EventData) -> io::Result<()> {
        if wants != self.waits_for {
            self.waits_for = wants;
            let flags = match wants {
                Wants::Bytes => EventFlags::IN,
                Wants::Room => EventFlags::OUT,
            };
            epoll::modify(poller, &self.connection, data, flags)?;
        }
        Ok(())
    }
}

/// Sends as many bytes as fit into the socket's buffer; returns 0 if none fit.
fn send(connection: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    match rustix::net::send(connection, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        Ok(n) => Ok(n),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::path::PathBuf;

    use looptax_wire::echo::Welcome;

    use super::*;

    /// A server that lives as long as this process.
    struct Served {
        folder: tempfile::TempDir,
        tcp: SocketAddr,
    }

    impl Served {
        fn start() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let unix = Listener::unix(&folder.path().join("s")).unwrap();
            let tcp = Listener::tcp("127.0.0.1:0".parse().unwrap()).unwrap();
            let at = rustix::net::getsockname(&tcp.socket).unwrap();
            let at = SocketAddr::try_from(at).unwrap();
            thread::spawn(move || serve(&[unix, tcp]));
            Self { folder, tcp: at }
        }

        fn socket(&self) -> PathBuf {
            self.folder.path().join("s")
        }

        fn unix(&self, hello: Hello) -> UnixStream {
            greeted(UnixStream::connect(self.socket()).unwrap(), hello)
        }

        fn tcp(&self, hello: Hello) -> TcpStream {
            greeted(TcpStream::connect(self.tcp).unwrap(), hello)
        }
    }

    fn greeted<S: Read + Write>(mut stream: S, hello: Hello) -> S {
        stream.write_all(&hello.encode()).unwrap();
        let mut answer = [0; Welcome::BYTES];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(Welcome::decode(answer).unwrap().pid, std::process::id());
        stream
    }

    #[track_caller]
    fn check_reply(stream: &mut impl Read, key: u64, n_bytes: usize) {
        let mut reply = vec![0; n_bytes];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply[..8], key.to_le_bytes());
        assert_eq!(reply[8..], pattern(n_bytes)[8..]);
    }

    #[test]
    fn connections_of_both_kinds_are_answered_in_any_order() {
        let served = Served::start();
        let mut unix = served.unix(Hello::ping_pong(20, 40));
        let mut tcp = served.tcp(Hello::ping_pong(8, 100));
        for key in 1..=3_u64 {
            let request = [&key.to_le_bytes()[..], &[7; 12]].concat();
            unix.write_all(&request[..5]).unwrap();
            tcp.write_all(&(100 + key).to_le_bytes()).unwrap();
            check_reply(&mut tcp, 100 + key, 100);
            unix.write_all(&request[5..]).unwrap();
            check_reply(&mut unix, key, 40);
        }
    }

    #[test]
    fn a_client_that_does_not_read_holds_nobody_up() {
        const LONG: usize = 1 << 20;
        let served = Served::start();
        let mut slow = served.unix(Hello::ping_pong(8, LONG as u32));
        let mut other = served.unix(Hello::ping_pong(8, 8));
        slow.write_all(&5_u64.to_le_bytes()).unwrap();
        for key in 1..=2_u64 {
            other.write_all(&key.to_le_bytes()).unwrap();
            check_reply(&mut other, key, 8);
        }
        check_reply(&mut slow, 5, LONG);
        slow.write_all(&6_u64.to_le_bytes()).unwrap();
        check_reply(&mut slow, 6, LONG);
    }

    #[test]
    fn streams_are_answered_when_their_last_byte_is_in() {
        let served = Served::start();
        let bytes = 3 * STREAM_BUFFER_BYTES + 5;
        let mut tcp = served.tcp(Hello { traffic: Traffic::Stream { bytes: bytes as u64 }, is_nodelay: false });
        for key in 1..=2_u64 {
            let mut stream = vec![7; bytes];
            stream[..8].copy_from_slice(&key.to_le_bytes());
            tcp.write_all(&stream).unwrap();
            check_reply(&mut tcp, key, 8);
        }
    }

    #[test]
    fn what_is_no_greeting_ends_the_connection_and_its_number_is_used_again() {
        let served = Served::start();
        for _ in 0..3 {
            let mut stranger = UnixStream::connect(served.socket()).unwrap();
            stranger.write_all(&[b'x'; Hello::BYTES]).unwrap();
            assert_eq!(stranger.read_to_end(&mut Vec::new()).unwrap(), 0);
            let mut next = served.unix(Hello::ping_pong(8, 8));
            next.write_all(&9_u64.to_le_bytes()).unwrap();
            check_reply(&mut next, 9, 8);
        }
    }
}
