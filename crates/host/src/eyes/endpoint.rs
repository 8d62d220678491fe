//! Parses the address of a server's socket, as the programs in the kernel store it.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// The number of 64-bit words in `struct endpoint` of `kernel/turns.bpf.c`.
const N_WORDS: usize = SERVER_AT + 4;
const NAME_AT: usize = 24;
/// The index of the first word of the server's address.
pub(super) const SERVER_AT: usize = 17;
pub(super) type Words = [u64; N_WORDS];

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// The name to which a Unix socket is bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    Path(PathBuf),
    Abstract(Vec<u8>),
}

impl Name {
    /// Reads the name in a `sockaddr_un`, without its family.
    pub(super) fn of_address(bytes: &[u8]) -> Self {
        if let Some((0, rest)) = bytes.split_first() {
            return Self::Abstract(rest.to_vec());
        }
        let path = bytes.split(|it| *it == 0).next().unwrap_or_default();
        Self::Path(PathBuf::from(OsString::from_vec(path.to_vec())))
    }
}

/// The address to which clients connect. A network namespace is given by the number that `/proc/PID/ns` shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Asked {
    /// A TCP address, with the network namespace of the process that was seen first.
    Tcp { to: SocketAddr, network: u64 },
    /// A Unix socket, with the inode and device of the file to which it was bound.
    Unix { name: Name, file: Option<(u64, u32)>, network: u64 },
}

/// Parses an address; `None` if its form is not the one that looptax's programs write.
pub(super) fn read(words: &Words) -> Option<Asked> {
    let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_ne_bytes()).collect();
    let u16_at = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let u32_at = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (inode, device) = (words[0], u32_at(8)?);
    let network = u64::from(u32_at(12)?);
    let port = u16_at(18)?;
    let name = bytes.get(NAME_AT..NAME_AT + u32_at(20)? as usize)?;
    let ip: IpAddr = match u16_at(16)? {
        AF_INET => Ipv4Addr::from(<[u8; 4]>::try_from(name.get(8..12)?).ok()?).into(),
        AF_INET6 => Ipv6Addr::from(<[u8; 16]>::try_from(name).ok()?).into(),
        AF_UNIX => {
            let name = Name::of_address(name.get(2..)?);
            return Some(Asked::Unix { name, file: (inode != 0).then_some((inode, device)), network });
        }
        _ => return None,
    };
    Some(Asked::Tcp { to: SocketAddr::new(ip, port), network })
}
