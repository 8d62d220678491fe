//! Reads the kernel's own list of stream sockets over netlink, as `ss` does.
//!
//! There is one dump per address family, for the network namespace in which the netlink socket was opened. A message
//! that cannot be read is counted and skipped. Called for each namespace by `namespaces`.
//!
//! # Source
//! `sock_diag(7)`; the kernel's `include/uapi/linux/inet_diag.h`, `unix_diag.h`, `tcp.h`.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    Nla as _,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, TCP_LISTEN, TCP_TIME_WAIT};
use netlink_packet_sock_diag::inet::{self, ExtensionFlags, InetRequest, InetResponse, SocketId};
use netlink_packet_sock_diag::unix::{self, ShowFlags, UnixRequest, UnixResponse};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

use crate::discover::DiscoverError;

/// The maximum number of bytes that the kernel puts into one answer, if the buffer is large enough.
const ANSWER_BYTES: usize = 64 << 10;
/// The type of a Unix stream socket in a dump: `SOCK_STREAM`.
const STREAM: u8 = 1;
/// `UDIAG_SHOW_UID` and `UNIX_DIAG_UID`, for which the library has no names. Kernels before 5.3 ignore the flag.
const SHOW_UID: u32 = 0x40;
const UID: u16 = 7;

/// How full a listening socket's queue of waiting connections is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Connections that wait to be accepted.
    pub waiting: u32,
    /// The maximum number of connections that may wait: the value passed to `listen`, limited by `net.core.somaxconn`.
    pub backlog: u32,
}

/// The traffic over a TCP connection so far. The counts wrap around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Segments with data that this end has received.
    pub data_segments_in: u32,
    /// Segments with data that this end has sent.
    pub data_segments_out: u32,
}

/// A TCP socket that listens or is connected. An IPv4 address that is mapped to IPv6 is stored as IPv4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TcpSocket {
    pub(crate) inode: u64,
    pub(crate) uid: u32,
    pub(crate) local: SocketAddr,
    /// The remote address; `None` if the socket listens.
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) queue: Queue,
    /// The traffic of a connection, if the kernel reports it.
    pub(crate) traffic: Option<Traffic>,
}

/// The name to which a Unix socket is bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum UnixName {
    Path(PathBuf),
    Abstract(Vec<u8>),
}

/// The file of a bound Unix socket: its inode, and its device in the form that the kernel uses in this list.
pub(crate) type FileId = (u32, u32);

/// A Unix stream socket that listens or is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnixSocket {
    pub(crate) inode: u64,
    /// The user who owns the socket, if the kernel reports it.
    pub(crate) uid: Option<u32>,
    pub(crate) is_listening: bool,
    pub(crate) name: Option<UnixName>,
    pub(crate) file: Option<FileId>,
    /// The sockets at the other end: the peer of a connection, or all clients that wait at a listening socket.
    pub(crate) peers: Vec<u64>,
    pub(crate) queue: Option<Queue>,
}

/// The stream sockets of one network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sockets {
    pub(crate) tcp: Vec<TcpSocket>,
    /// Closed TCP connections that the kernel still lists, by their two addresses.
    pub(crate) closed: Vec<(SocketAddr, SocketAddr)>,
    pub(crate) unix: Vec<UnixSocket>,
    /// The number of the kernel's messages that could not be read.
    pub(crate) n_unread: usize,
}

/// Lists the sockets of the calling thread's network namespace.
///
/// # Errors
/// As [`sockets`].
pub(crate) fn own_sockets() -> Result<Sockets, DiscoverError> {
    let opened = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG));
    sockets(&opened.map_err(|errno| failed("TCP")(errno.into()))?)
}

/// Lists the sockets of the network namespace in which `lister` was opened.
///
/// # Errors
/// [`DiscoverError::SockDiag`]. A kernel without IPv6 has no IPv6 sockets, which is not an error.
pub(crate) fn sockets(lister: &OwnedFd) -> Result<Sockets, DiscoverError> {
    let mut found = Sockets::default();
    for (family, id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
        let request = SockDiagMessage::InetRequest(InetRequest {
            family,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::INFO,
            states: inet::StateFlags::ESTABLISHED | inet::StateFlags::LISTEN | inet::StateFlags::TIME_WAIT,
            socket_id: id,
        });
        found.n_unread += dump(lister, request, |message| {
            let SockDiagMessage::InetResponse(response) = message else {
                return;
            };
            let socket = tcp_socket(&response);
            match socket.remote {
                Some(remote) if response.header.state == TCP_TIME_WAIT => {
                    found.closed.push((socket.local, remote));
                }
                _ => found.tcp.push(socket),
            }
        })
        .map_err(failed("TCP"))?;
    }
    found.n_unread += unix(lister, &mut found.unix).map_err(failed("Unix"))?;
    Ok(found)
}

/// Lists the Unix stream sockets; returns the number of unreadable messages.
///
/// Requests two lists. The kernel ends a list early if a queue is too long for one message, so the queues are in a
/// separate list. The queues, with the clients that wait to be accepted, are listed first: a client that is accepted
/// between the two lists is then in both lists, and counts once. In the other order, it would be in neither list.
fn unix(lister: &OwnedFd, found: &mut Vec<UnixSocket>) -> io::Result<usize> {
    let request = |state_flags, show_flags| {
        SockDiagMessage::UnixRequest(UnixRequest { state_flags, inode: 0, show_flags, cookie: [0xff; 8] })
    };
    let mut waiting = HashMap::new();
    let queues = request(unix::StateFlags::LISTEN, ShowFlags::ICONS);
    let mut n_unread = dump(lister, queues, |message| {
        if let SockDiagMessage::UnixResponse(response) = message {
            waiting.insert(u64::from(response.header.inode), in_queue(&response));
        }
    })?;
    let states = unix::StateFlags::ESTABLISHED | unix::StateFlags::LISTEN;
    let show = ShowFlags::NAME | ShowFlags::VFS | ShowFlags::PEER | ShowFlags::RQLEN;
    let all = request(states, show | ShowFlags::from_bits_retain(SHOW_UID));
    n_unread += dump(lister, all, |message| {
        if let SockDiagMessage::UnixResponse(response) = message
            && response.header.kind == STREAM
        {
            found.push(unix_socket(&response));
        }
    })?;
    if waiting.values().any(|it| !it.is_empty()) {
        let accepted: HashSet<u64> = found.iter().flat_map(|it| it.peers.clone()).collect();
        for socket in found.iter_mut().filter(|it| it.is_listening) {
            socket.peers = waiting.remove(&socket.inode).unwrap_or_default();
            socket.peers.retain(|it| !accepted.contains(it));
        }
    }
    Ok(n_unread)
}

/// Returns the clients that wait to be accepted.
fn in_queue(response: &UnixResponse) -> Vec<u64> {
    let lists = response.nlas.iter().filter_map(|nla| match nla {
        unix::nlas::Nla::PendingConnections(inodes) => Some(inodes),
        _ => None,
    });
    lists.flatten().map(|inode| u64::from(*inode)).collect()
}

fn failed(family: &'static str) -> impl Fn(io::Error) -> DiscoverError {
    move |source| DiscoverError::SockDiag { family, source }
}

/// Sends one request for a list and passes each message to `take`; returns the number of unreadable messages.
fn dump(lister: &OwnedFd, request: SockDiagMessage, mut take: impl FnMut(SockDiagMessage)) -> io::Result<usize> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut packet = NetlinkMessage::new(header, request.into());
    packet.finalize();
    let mut bytes = vec![0; packet.buffer_len()];
    packet.serialize(&mut bytes);
    send(lister, &bytes, SendFlags::empty())?;

    let mut n_unread = 0;
    let mut answer = vec![0; ANSWER_BYTES];
    loop {
        let n_bytes = match recv(lister, &mut answer[..], RecvFlags::empty()) {
            Err(Errno::INTR) => continue,
            received => received?.0,
        };
        if n_bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut rest = &answer[..n_bytes];
        while let Ok(header) = NetlinkBuffer::new_checked(rest) {
            // Each message is padded to four bytes; `new_checked` has checked that the message is complete.
            let length = (header.length() as usize).max(1);
            match NetlinkMessage::<SockDiagMessage>::deserialize(rest).map(|it| it.payload) {
                Ok(NetlinkPayload::InnerMessage(message)) => take(message),
                Ok(NetlinkPayload::Done(_)) => return Ok(n_unread),
                Ok(NetlinkPayload::Error(error)) => return Err(error.to_io()),
                Ok(_) => {}
                Err(_) => n_unread += 1,
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

fn tcp_socket(response: &InetResponse) -> TcpSocket {
    let header = &response.header;
    let id = &header.socket_id;
    let is_listening = header.state == TCP_LISTEN;
    TcpSocket {
        inode: u64::from(header.inode),
        uid: header.uid,
        local: address(id.source_address, id.source_port),
        remote: (!is_listening).then(|| address(id.destination_address, id.destination_port)),
        queue: Queue { waiting: header.recv_queue, backlog: header.send_queue },
        traffic: response.nlas.iter().find_map(|nla| match nla {
            inet::nlas::Nla::TcpInfo(bytes) => traffic(bytes),
            _ => None,
        }),
    }
}

/// Returns an address in the form that people write: `::ffff:127.0.0.1` becomes 127.0.0.1.
fn address(ip: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(ip.to_canonical(), port)
}

/// Reads the traffic from the kernel's `struct tcp_info`; `None` if the kernel is too old to count segments with data.
fn traffic(tcp_info: &[u8]) -> Option<Traffic> {
    const DATA_SEGMENTS_IN: usize = 152;
    const DATA_SEGMENTS_OUT: usize = 156;
    let number = |at: usize| {
        let bytes = tcp_info.get(at..)?.first_chunk()?;
        Some(u32::from_ne_bytes(*bytes))
    };
    Some(Traffic { data_segments_in: number(DATA_SEGMENTS_IN)?, data_segments_out: number(DATA_SEGMENTS_OUT)? })
}

fn unix_socket(response: &UnixResponse) -> UnixSocket {
    let mut socket = UnixSocket {
        inode: u64::from(response.header.inode),
        uid: None,
        is_listening: response.header.state == TCP_LISTEN,
        name: None,
        file: None,
        peers: Vec::new(),
        queue: None,
    };
    for nla in &response.nlas {
        match nla {
            unix::nlas::Nla::Name(name) => socket.name = Some(unix_name(name)),
            unix::nlas::Nla::Vfs(vfs) => socket.file = file_id(vfs),
            unix::nlas::Nla::Peer(inode) => socket.peers.push(u64::from(*inode)),
            unix::nlas::Nla::Other(other) if other.kind() == UID => socket.uid = number(other),
            unix::nlas::Nla::ReceiveQueueLength(waiting, backlog) if socket.is_listening => {
                socket.queue = Some(Queue { waiting: *waiting, backlog: *backlog });
            }
            _ => {}
        }
    }
    socket
}

fn number(attribute: &DefaultNla) -> Option<u32> {
    let mut bytes = [0; 4];
    if attribute.value_len() != bytes.len() {
        return None;
    }
    attribute.emit_value(&mut bytes);
    Some(u32::from_ne_bytes(bytes))
}

fn unix_name(name: &unix::nlas::UnixDiagName) -> UnixName {
    match name {
        unix::nlas::UnixDiagName::Pathname(path) => UnixName::Path(path.into()),
        unix::nlas::UnixDiagName::Abstract(bytes) => UnixName::Abstract(bytes.clone()),
    }
}

/// Returns inode and device of a socket's file. The library does not export these two numbers, so they are read from
/// the bytes that the library writes for the file.
fn file_id(vfs: &unix::nlas::Vfs) -> Option<FileId> {
    let mut bytes = [0; 8];
    if vfs.buffer_len() != bytes.len() {
        return None;
    }
    vfs.emit(&mut bytes);
    let (inode, device) = bytes.split_at(4);
    Some((u32::from_ne_bytes(*inode.first_chunk()?), u32::from_ne_bytes(*device.first_chunk()?)))
}

impl UnixName {
    /// Returns the name as people write it: an abstract name starts with `@`.
    pub(crate) fn shown(&self) -> PathBuf {
        match self {
            Self::Path(path) => path.clone(),
            Self::Abstract(name) => {
                let mut shown = b"@".to_vec();
                shown.extend_from_slice(name);
                OsStr::from_bytes(&shown).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn our_own_tcp_connection_is_listed_with_both_ends_and_its_segments() {
        use std::io::{Read, Write};
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        for _ in 0..3 {
            client.write_all(b"ping").unwrap();
            server.read_exact(&mut [0; 4]).unwrap();
        }
        let found = own_sockets().unwrap();
        let listening = found.tcp.iter().find(|it| it.remote.is_none() && it.local == listener.local_addr().unwrap());
        assert!(listening.unwrap().queue.backlog > 0);
        let end = |local, remote| {
            let found = found.tcp.iter().find(|it| it.local == local && it.remote == Some(remote));
            found.unwrap().traffic.unwrap()
        };
        let (near, far) = (client.local_addr().unwrap(), listener.local_addr().unwrap());
        assert_eq!(end(near, far).data_segments_out, 3);
        assert_eq!(end(far, near).data_segments_in, 3);
    }

    #[test]
    fn a_unix_socket_is_listed_with_its_file_its_queue_and_its_peer() {
        let folder = std::env::temp_dir().join(format!("looptax-diag-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("s p\u{1b}[31m.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        let client = UnixStream::connect(&path).unwrap();
        let waiting = own_sockets().unwrap();
        let (server, _) = listener.accept().unwrap();
        let accepted = own_sockets().unwrap();
        fs::remove_dir_all(&folder).unwrap();

        let name = Some(UnixName::Path(path));
        let listening = |found: &Sockets| found.unix.iter().find(|it| it.is_listening && it.name == name).cloned();
        let socket = listening(&waiting).unwrap();
        assert_eq!(socket.queue.unwrap().waiting, 1);
        assert_eq!(u64::from(socket.file.unwrap().0), inode & 0xffff_ffff);
        assert_eq!(listening(&accepted).unwrap().queue.unwrap().waiting, 0);
        let serving = accepted.unix.iter().find(|it| !it.is_listening && it.name == name).unwrap();
        let client_end = { accepted.unix.iter() }.find(|it| serving.peers == [it.inode]);
        assert_eq!(client_end.unwrap().peers, [serving.inode]);
        assert!(listening(&accepted).unwrap().peers.is_empty());
        // Before the client was accepted, it was listed as a client that waits.
        assert_eq!(socket.peers, [client_end.unwrap().inode]);
        drop((client, server));
    }

    #[test]
    fn an_old_kernel_that_counts_no_segments_with_data_has_no_traffic() {
        assert_eq!(traffic(&[0; 104]), None);
        let mut info = [0; 232];
        info[152] = 7;
        info[156] = 9;
        let expected = Traffic { data_segments_in: 7, data_segments_out: 9 };
        assert_eq!(traffic(&info), Some(expected));
    }
}
