//! The abstract name of a moved socket, which contains the addresses that the program believes its two ends have.
//!
//! The name belongs to the socket, so it survives dup, fork, exec, passing to other processes and the supervisor's
//! death; no table is needed. Any process may give a socket such a name, but the addresses are only reported to a
//! process that holds that socket.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::sys::socket::RawName;

const PREFIX: &[u8] = b"looptax/";
/// Numbers of base-64 digits: `LONG` for a 64-bit number, `SHORT` for a 32-bit number, and `ALL` for a 128-bit address
/// with two ports.
const LONG: usize = 11;
const SHORT: usize = 6;
const ALL: usize = 2 * LONG + SHORT;
const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
/// By default Linux chooses local ports from this number on.
///
/// # Source
/// `Documentation/networking/ip-sysctl.rst`, `ip_local_port_range`: 32768 to 60999.
const FIRST_PORT: u64 = 32_768;
const N_PORTS: u64 = 28_232;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The address to which the program connected, in the family that it used.
    pub(crate) peer: SocketAddr,
    /// The program's own port as the program sees it; no socket really has it.
    pub(crate) own_port: u16,
}

impl Tag {
    /// Returns the tag of the `serial`-th connection.
    pub(crate) fn new(peer: SocketAddr, serial: u64) -> Self {
        let own_port = (FIRST_PORT + serial % N_PORTS) as u16;
        // If the own port were equal to the peer's port, Go would believe that the socket is connected to itself, and
        // would dial again.
        let own_port = if own_port == peer.port() { FIRST_PORT as u16 - 1 } else { own_port };
        Self { peer, own_port }
    }

    /// Returns the name without its leading zero byte; `maker` and `serial` make the name unique.
    ///
    /// At most 30 bytes for loopback addresses: PostgreSQL writes a complaint to its log about clients with longer
    /// names. Source: src/common/ip.c, which writes the name into a buffer for a port's name (`NI_MAXSERV`, 32).
    pub(crate) fn name(self, maker: u32, serial: u64) -> Vec<u8> {
        let ports = u64::from(self.peer.port()) << 16 | u64::from(self.own_port);
        let (kind, parts) = match self.peer.ip() {
            IpAddr::V4(ip) => ('4', vec![(u64::from(ip.to_bits()) << 32 | ports, LONG)]),
            IpAddr::V6(ip) if ip.is_loopback() => ('1', vec![(ports, SHORT)]),
            IpAddr::V6(ip) => {
                if let Some(ip) = ip.to_ipv4_mapped() {
                    ('m', vec![(u64::from(ip.to_bits()) << 32 | ports, LONG)])
                } else {
                    let bits = ip.to_bits();
                    let [high, low] = [(bits >> 64) as u64, bits as u64].map(|it| (it, LONG));
                    ('6', vec![high, low, (ports, SHORT)])
                }
            }
        };
        let mut name = PREFIX.to_vec();
        name.push(kind as u8);
        for (value, n_digits) in parts {
            name.extend(digits(value, n_digits));
        }
        name.push(b'/');
        for value in [u64::from(maker), serial] {
            let n_digits = (1..LONG).find(|n| value >> (6 * n) == 0).unwrap_or(LONG);
            name.extend(digits(value, n_digits));
            name.push(b'.');
        }
        name.pop();
        name
    }

    /// Parses a socket's name; `None` for sockets that were not moved.
    pub(crate) fn read(name: &RawName) -> Option<Self> {
        if name.family() != libc::AF_UNIX {
            return None;
        }
        Self::parse(name.bytes().get(2..)?.strip_prefix(b"\0")?)
    }

    fn parse(name: &[u8]) -> Option<Self> {
        let (kind, rest) = name.strip_prefix(PREFIX)?.split_first()?;
        let end = rest.iter().position(|byte| *byte == b'/')?;
        let told = &rest[..end];
        let (ip, ports) = match (kind, told.len()) {
            (b'4' | b'm', LONG) => {
                let both = value(told)?;
                let ip = Ipv4Addr::from_bits((both >> 32) as u32);
                let is_mapped = *kind == b'm';
                let ip = if is_mapped { ip.to_ipv6_mapped().into() } else { IpAddr::V4(ip) };
                (ip, both & u64::from(u32::MAX))
            }
            (b'1', SHORT) => (Ipv6Addr::LOCALHOST.into(), value(told)?),
            (b'6', ALL) => {
                let (address, ports) = told.split_at(2 * LONG);
                let (high, low) = address.split_at(LONG);
                let bits = u128::from(value(high)?) << 64 | u128::from(value(low)?);
                (Ipv6Addr::from_bits(bits).into(), value(ports)?)
            }
            _ => return None,
        };
        let peer = SocketAddr::new(ip, u16::try_from(ports >> 16).ok()?);
        let own_port = ports as u16;
        Some(Self { peer, own_port })
    }

    /// Returns the address of the program's own end. Its IP address is that of the peer; the kernel would have chosen
    /// the same address.
    pub(crate) fn own(self) -> SocketAddr {
        SocketAddr::new(self.peer.ip(), self.own_port)
    }

    /// Returns the address family that the program knows.
    pub(crate) fn family(self) -> i32 {
        if self.peer.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }
    }
}

/// Returns this many digits, the most significant first.
fn digits(value: u64, n_digits: usize) -> impl Iterator<Item = u8> {
    let places = (0..n_digits).rev();
    places.map(move |place| DIGITS[(value >> (6 * place)) as usize % DIGITS.len()])
}

fn value(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |value, digit| {
        let number = DIGITS.iter().position(|it| it == digit)?;
        value.checked_mul(64)?.checked_add(number as u64)
    })
}

/// Returns an address in the kernel's format: `sockaddr_in` or `sockaddr_in6`.
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

/// Returns the address in the bytes that a program passed, as the kernel would read them.
pub(crate) fn parse_raw(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    let ip: IpAddr = match family {
        libc::AF_INET if bytes.len() >= 16 => Ipv4Addr::from(*bytes.get(4..)?.first_chunk::<4>()?).into(),
        // An IPv6 address without the scope at its end is an address of RFC 2133, which the kernel accepts, too.
        libc::AF_INET6 if bytes.len() >= 24 => Ipv6Addr::from(*bytes.get(8..)?.first_chunk::<16>()?).into(),
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
        // The largest process id, and more connections than a day has at a rate of ten per second.
        let name = tag.name(4_194_304, 16_000_000);
        let is_loopback = tag.peer.ip().to_canonical().is_loopback();
        assert!(name.len() <= if is_loopback { 30 } else { 60 }, "{}", name.len());
        assert_eq!(Tag::parse(&name), Some(tag));
        assert_ne!(tag.name(1, 2), tag.name(2, 1));
        assert_eq!(parse_raw(&raw(tag.peer)), Some(tag.peer));
    }

    #[test]
    fn a_name_says_what_it_was_made_from() {
        check("127.0.0.1:3306");
        check("127.255.255.255:65535");
        check("[::1]:5432");
        check("[::ffff:127.0.0.1]:65535");
        check("[ffff:1:2:3:4:5:6:7]:1");
    }

    #[test]
    fn no_connection_is_from_the_port_that_it_leads_to() {
        let peer: SocketAddr = "127.0.0.1:40000".parse().unwrap();
        for serial in [0, 7_231, 7_232, 7_233, N_PORTS + 7_232] {
            let Tag { own_port, .. } = Tag::new(peer, serial);
            assert!(own_port != peer.port() && own_port >= 32_767, "{serial}: {own_port}");
        }
    }

    #[test]
    fn other_names_say_nothing() {
        for name in [
            "",
            "looptax/",
            "looptax/4",
            "looptax/407m000003AnWT",
            "looptax/407m00000AnWT/1.1",
            "looptax/407m00000 3An/1.1",
            "looptax/5000000/1.1",
            "looptax/6000000/1.1",
            "looptax/4___________/1.1",
            "postgres/1000000/1.1",
        ] {
            assert_eq!(Tag::parse(name.as_bytes()), None, "{name}");
        }
        assert_eq!(Tag::parse(b"looptax/1\xff\xff0000/1.1"), None);
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
