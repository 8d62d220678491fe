//! Finds one TCP socket in the calling thread's network namespace by its addresses, and returns its owner.
//!
//! The kernel looks the socket up as it does for an arriving packet. If `sock_diag` is not available, the kernel's list
//! of sockets in `/proc` is read.
//!
//! # Source
//! `sock_diag(7)`; the kernel's `include/uapi/linux/inet_diag.h`, `proc_pid_net(5)`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use looptax_host::kernel;
use netlink_packet_core::{NLM_F_REQUEST, NLMSG_ERROR};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
const IPPROTO_TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const TCP_LISTEN: u8 = 10;

/// The sizes of a message's header, and of the request and the answer after it: `inet_diag_req_v2` and `inet_diag_msg`.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
const ANSWER_BYTES: usize = HEADER_BYTES + 72;
/// Positions in the answer: the state, the uid and the inode.
const STATE_AT: usize = HEADER_BYTES + 1;
const UID_AT: usize = HEADER_BYTES + 64;
const INODE_AT: usize = HEADER_BYTES + 68;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) uid: u32,
    /// 0 while no process holds the socket: it waits to be accepted, or was closed.
    pub(super) inode: u64,
}

impl End {
    pub(super) fn is_held(self) -> bool {
        self.inode != 0
    }
}

/// Returns the socket at `local` that is connected to `remote`; without `remote`, the socket that listens at `local`.
/// `None` if there is no such socket.
pub(super) fn end_of(local: SocketAddr, remote: Option<SocketAddr>) -> io::Result<Option<End>> {
    asked(local, remote).or_else(|_| listed(local, remote))
}

fn asked(local: SocketAddr, remote: Option<SocketAddr>) -> io::Result<Option<End>> {
    let socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.send(&request(local, remote), 0)?;
    let mut answer = Vec::with_capacity(4096);
    socket.recv(&mut answer, 0)?;
    read(&answer, remote.is_none())
}

fn request(local: SocketAddr, remote: Option<SocketAddr>) -> Vec<u8> {
    let family = if local.is_ipv4() { AF_INET } else { AF_INET6 };
    let none = SocketAddr::new(
        match local.ip() {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        },
        0,
    );
    let remote = remote.unwrap_or(none);
    let mut bytes = Vec::with_capacity(REQUEST_BYTES);
    bytes.extend((REQUEST_BYTES as u32).to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence number and sender; both may be 0, since there is only one request and one sender.
    bytes.extend([0; 8]);
    bytes.extend([family, IPPROTO_TCP, 0, 0]);
    // Sockets in any state.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(local.port().to_be_bytes());
    bytes.extend(remote.port().to_be_bytes());
    bytes.extend(words(local.ip()));
    bytes.extend(words(remote.ip()));
    // Sockets on any interface.
    bytes.extend([0; 4]);
    // Sockets with any cookie.
    bytes.extend([0xff; 8]);
    bytes
}

/// Returns the four words in which the message holds an address of either family.
fn words(ip: IpAddr) -> [u8; 16] {
    let mut words = [0; 16];
    match ip {
        IpAddr::V4(ip) => words[..4].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => words = ip.octets(),
    }
    words
}

fn read(answer: &[u8], wants_listener: bool) -> io::Result<Option<End>> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let number = |at: usize| -> io::Result<[u8; 4]> {
        let bytes = answer.get(at..).and_then(|it| it.first_chunk());
        bytes.copied().ok_or_else(invalid)
    };
    let kind = answer.get(4..).and_then(|it| it.first_chunk());
    let kind = u16::from_ne_bytes(*kind.ok_or_else(invalid)?);
    if kind == NLMSG_ERROR {
        let code = i32::from_ne_bytes(number(HEADER_BYTES)?);
        return match rustix::io::Errno::from_raw_os_error(code.wrapping_neg()) {
            rustix::io::Errno::NOENT => Ok(None),
            errno => Err(errno.into()),
        };
    }
    if kind != BY_FAMILY || answer.len() < ANSWER_BYTES {
        return Err(invalid());
    }
    let end = End { uid: u32::from_ne_bytes(number(UID_AT)?), inode: u64::from(u32::from_ne_bytes(number(INODE_AT)?)) };
    // If no socket has this connection, the kernel returns the socket that listens for it.
    let is_listener = answer[STATE_AT] == TCP_LISTEN;
    Ok((is_listener == wants_listener).then_some(end))
}

/// Like `asked`, but reads the kernel's list in `/proc`.
fn listed(local: SocketAddr, remote: Option<SocketAddr>) -> io::Result<Option<End>> {
    let mut text = kernel::text("/proc/thread-self/net/tcp")?;
    // A kernel without IPv6 does not have this file.
    text += &kernel::text("/proc/thread-self/net/tcp6").unwrap_or_default();
    Ok(in_list(&text, local, remote))
}

fn in_list(text: &str, local: SocketAddr, remote: Option<SocketAddr>) -> Option<End> {
    let rows: Vec<Row> = text.lines().filter_map(Row::read).collect();
    let find = |ip: IpAddr| {
        let at = SocketAddr::new(ip, local.port());
        let mut rows = rows.iter();
        rows.find(|row| match remote {
            Some(remote) => row.local == plain(local) && row.remote == plain(remote) && !row.listens,
            None => row.listens && row.local == plain(at),
        })
    };
    // A listener on this address takes precedence over a listener on all addresses.
    let found = find(local.ip()).or_else(|| {
        let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        let own_family = any.into_iter().filter(|it| it.is_ipv4() == local.is_ipv4());
        let found = own_family.map(find).find(Option::is_some).flatten();
        found.or_else(|| find(Ipv6Addr::UNSPECIFIED.into()))
    });
    found.map(|row| row.end)
}

/// Turns an IPv4 address that is mapped into IPv6 back into IPv4.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    listens: bool,
    end: End,
}

impl Row {
    /// Parses a line with these columns: number, two addresses, state, four columns of queues and timers, uid, another
    /// column, inode.
    fn read(line: &str) -> Option<Self> {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(Self {
            local: plain(address(columns.get(1)?)?),
            remote: plain(address(columns.get(2)?)?),
            listens: *columns.get(3)? == "0A",
            end: End { uid: columns.get(7)?.parse().ok()?, inode: columns.get(9)?.parse().ok()? },
        })
    }
}

/// Parses `0100007F:0CEA`: each four bytes of the address are a number in the machine's byte order.
fn address(text: &str) -> Option<SocketAddr> {
    let (digits, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = digits.get(at..at + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip = match digits.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let mut bytes = [0; 16];
            for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
                place.copy_from_slice(&word);
            }
            IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn both_ways_to_ask_give_the_same_of_a_socket_that_waits_is_accepted_and_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let check = |remote, is_there: bool, is_held: bool| {
            let (asked, listed) = (asked(local, remote).unwrap(), listed(local, remote).unwrap());
            assert_eq!(asked.is_some(), is_there, "{remote:?}");
            assert_eq!(asked.is_some_and(End::is_held), is_held, "{remote:?}");
            assert_eq!(listed.is_some(), is_there, "{remote:?}");
            assert_eq!(listed.is_some_and(End::is_held), is_held, "{remote:?}");
            if is_held {
                assert_eq!(asked, listed);
                assert_eq!(asked.unwrap().uid, rustix::process::geteuid().as_raw());
            }
        };
        check(None, true, true);
        let nobody = Some("127.0.0.1:1".parse().unwrap());
        check(nobody, false, false);
        let client = TcpStream::connect(local).unwrap();
        let remote = Some(client.local_addr().unwrap());
        check(remote, true, false);
        let accepted = listener.accept().unwrap();
        check(remote, true, true);
        drop(listener);
        // A program that another test starts has a copy of the socket between its fork and its exec.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while asked(local, None).unwrap().is_some() && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        check(None, false, false);
        check(remote, true, true);
        drop(accepted);
    }

    #[test]
    fn a_list_is_read_with_the_nearer_listener_first() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
             0: 00000000:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   101        0 7 1\n   \
             1: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   102        0 8 1\n   \
             2: 0100007F:0CEA 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 0 1\n   \
             3: 00000000000000000000000000000000:0CEB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000   103        0 9 1\n";
        let at = |text: &str| text.parse().unwrap();
        let uid = |local: &str, remote| in_list(list, at(local), remote).map(|it| it.uid);
        if cfg!(target_endian = "little") {
            assert_eq!(uid("127.0.0.1:3306", None), Some(102));
            assert_eq!(uid("10.0.0.1:3306", None), Some(101));
            assert_eq!(uid("127.0.0.1:3307", None), Some(103));
            assert_eq!(uid("[::1]:3307", None), Some(103));
            assert_eq!(uid("127.0.0.1:3308", None), None);
            let connected = in_list(list, at("127.0.0.1:3306"), Some(at("127.0.0.1:40000")));
            assert!(!connected.unwrap().is_held());
            assert_eq!(uid("127.0.0.1:3306", Some(at("127.0.0.1:40001"))), None);
        }
    }

    #[test]
    fn answers_that_are_none_are_no_socket() {
        for answer in [&[][..], &[0; 16], &[0; 200]] {
            assert!(read(answer, true).is_err());
        }
    }
}
