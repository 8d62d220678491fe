//! The abstract name of a moved socket, which says what the program believes its ends to be.
//!
//! The name belongs to the socket, so it survives dup, fork, exec, passing to other processes and the
//! supervisor's death; there is no table to keep. Anybody may give a socket such a name: it is only ever
//! shown, to whoever holds that socket.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::sys::socket::RawName;

const PREFIX: &[u8] = b"looptax/";
/// Linux takes local ports from here on, by default.
///
/// # Source
/// `Documentation/networking/ip-sysctl.rst`, `ip_local_port_range`: 32768 to 60999.
const FIRST_PORT: u64 = 32_768;
const N_PORTS: u64 = 28_232;

/// What the program believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// What it connected to, in the family in which it asked.
    pub(crate) peer: SocketAddr,
    /// Its own port, which nobody has.
    pub(crate) own_port: u16,
}

impl Tag {
    /// For the `serial`-th connection.
    pub(crate) fn new(peer: SocketAddr, serial: u64) -> Self {
        Self {
            peer,
            own_port: (FIRST_PORT + serial % N_PORTS) as u16,
        }
    }

    /// The name without its leading zero byte; `nonce` keeps it apart from all others.
    pub(crate) fn name(self, nonce: &str) -> Vec<u8> {
        let (family, address) = match self.peer.ip() {
            IpAddr::V4(ip) => (4, format!("{:08x}", ip.to_bits())),
            IpAddr::V6(ip) => (6, format!("{:032x}", ip.to_bits())),
        };
        let (port, own) = (self.peer.port(), self.own_port);
        let mut name = PREFIX.to_vec();
        name.extend_from_slice(format!("{family}/{address}/{port}/{own}/{nonce}").as_bytes());
        name
    }

    /// What a socket's name says; `None` for sockets that were not moved.
    pub(crate) fn read(name: &RawName) -> Option<Self> {
        if name.family() != libc::AF_UNIX {
            return None;
        }
        Self::parse(name.bytes().get(2..)?.strip_prefix(b"\0")?)
    }

    fn parse(name: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(name.strip_prefix(PREFIX)?).ok()?;
        let mut parts = text.split('/');
        let (family, address) = (parts.next()?, parts.next()?);
        let ip = match (family, address.len()) {
            ("4", 8) => Ipv4Addr::from_bits(u32::from_str_radix(address, 16).ok()?).into(),
            ("6", 32) => Ipv6Addr::from_bits(u128::from_str_radix(address, 16).ok()?).into(),
            _ => return None,
        };
        let peer = SocketAddr::new(ip, parts.next()?.parse().ok()?);
        let own_port = parts.next()?.parse().ok()?;
        parts.next()?;
        parts.next().is_none().then_some(Self { peer, own_port })
    }

    /// The address of the program's own end: the kernel would have taken the peer's.
    pub(crate) fn own(self) -> SocketAddr {
        SocketAddr::new(self.peer.ip(), self.own_port)
    }

    /// The address family that the program knows.
    pub(crate) fn family(self) -> i32 {
        if self.peer.is_ipv4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        }
    }
}

/// An address as the kernel lays it out: `sockaddr_in` or `sockaddr_in6`.
pub(crate) fn raw(address: SocketAddr) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(28);
    match address {
        SocketAddr::V4(address) => {
            bytes.extend_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
            bytes.extend_from_slice(&address.port().to_be_bytes());
            bytes.extend_from_slice(&address.ip().octets());
            bytes.extend_from_slice(&[0; 8]);
        }
        SocketAddr::V6(address) => {
            bytes.extend_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
            bytes.extend_from_slice(&address.port().to_be_bytes());
            bytes.extend_from_slice(&[0; 4]);
            bytes.extend_from_slice(&address.ip().octets());
            bytes.extend_from_slice(&[0; 4]);
        }
    }
    bytes
}

/// The address in what a program passed, as the kernel would read it.
pub(crate) fn parse_raw(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    let ip: IpAddr = match family {
        libc::AF_INET if bytes.len() >= 16 => {
            Ipv4Addr::from(*bytes.get(4..)?.first_chunk::<4>()?).into()
        }
        // Without the scope at its end it is an address of RFC 2133, which the kernel takes, too.
        libc::AF_INET6 if bytes.len() >= 24 => {
            Ipv6Addr::from(*bytes.get(8..)?.first_chunk::<16>()?).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(peer: &str) {
        let tag = Tag::new(peer.parse().unwrap(), 7);
        let name = tag.name("1234.7");
        assert!(name.len() < 107, "{}", name.len());
        assert_eq!(Tag::parse(&name), Some(tag));
        assert_eq!(parse_raw(&raw(tag.peer)), Some(tag.peer));
    }

    #[test]
    fn a_name_says_what_it_was_made_from() {
        check("127.0.0.1:3306");
        check("[::1]:5432");
        check("[::ffff:127.0.0.1]:65535");
    }

    #[test]
    fn other_names_say_nothing() {
        for name in [
            "",
            "looptax/",
            "looptax/4/7f000001/1/2",
            "looptax/4/7f0001/1/2/3",
            "looptax/4/7f000001/1/2/3/4",
            "looptax/4/7f000001/70000/2/3",
            "looptax/5/7f000001/1/2/3",
            "postgres/4/7f000001/1/2/3",
        ] {
            assert_eq!(Tag::parse(name.as_bytes()), None, "{name}");
        }
        assert_eq!(Tag::parse(b"looptax/4/\xff\xff/1/2/3"), None);
    }

    #[test]
    fn short_addresses_are_none() {
        let whole = raw("127.0.0.1:1".parse().unwrap());
        assert_eq!(parse_raw(&whole[..15]), None);
        let whole = raw("[::1]:1".parse().unwrap());
        assert_eq!(parse_raw(&whole[..23]), None);
        assert!(parse_raw(&whole[..24]).is_some());
        assert_eq!(parse_raw(&[]), None);
    }
}
