//! A mapping as a message between two processes of the same program; no other program reads this format.
//!
//! A route is written as the length of its address, the address, a mark for the kind of name, the length of the name,
//! and the name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::mapping::MAX_PATH_BYTES;
use crate::page::MAX_ROUTES;
use crate::{Mapping, Route, SocketName};

/// Length of the longest address as text: an IPv6 address with its port.
const MAX_ADDRESS_BYTES: usize = 64;
pub(super) const MAX_BYTES: usize = MAX_ROUTES * (MAX_ADDRESS_BYTES + MAX_PATH_BYTES + 3);

const PATH: u8 = b'p';
const ABSTRACT: u8 = b'a';

/// Writes the mapping as a message. Each length fits into a byte, because the mapping was checked.
pub(super) fn written(mapping: &Mapping) -> Vec<u8> {
    let mut bytes = Vec::new();
    for route in &mapping.routes {
        let (kind, name) = match &route.to {
            SocketName::Path(path) => (PATH, path.as_os_str().as_bytes()),
            SocketName::Abstract(name) => (ABSTRACT, name.as_slice()),
        };
        let from = route.from.to_string();
        bytes.extend([from.len() as u8]);
        bytes.extend(from.as_bytes());
        bytes.extend([kind, name.len() as u8]);
        bytes.extend(name);
    }
    bytes
}

/// Parses a message; `None` if it does not contain routes.
pub(super) fn read(mut bytes: &[u8]) -> Option<Mapping> {
    let mut routes = Vec::new();
    while !bytes.is_empty() {
        let from = std::str::from_utf8(counted(&mut bytes)?).ok()?;
        let from = from.parse().ok()?;
        let (kind, rest) = bytes.split_first()?;
        bytes = rest;
        let name = counted(&mut bytes)?;
        let to = match *kind {
            PATH => SocketName::Path(OsStr::from_bytes(name).into()),
            ABSTRACT => SocketName::Abstract(name.to_vec()),
            _ => return None,
        };
        routes.push(Route { from, to, owner: None, demands: Vec::new() });
    }
    Some(Mapping { routes })
}

/// Returns the bytes that follow their length.
fn counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (n_bytes, rest) = bytes.split_first()?;
    let (found, rest) = rest.split_at_checked(usize::from(*n_bytes))?;
    *bytes = rest;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(from: &str, to: SocketName) -> Route {
        Route { from: from.parse().unwrap(), to, owner: None, demands: Vec::new() }
    }

    #[test]
    fn routes_come_over_as_they_were() {
        let mapping = Mapping {
            routes: vec![
                route("127.0.0.1:3306", SocketName::Path("/run/a b\n.sock".into())),
                route("[::1]:65535", SocketName::Abstract(b"a\0b".to_vec())),
                route("127.0.0.1:1", SocketName::Path("x".repeat(107).into())),
            ],
        };
        let message = written(&mapping);
        assert!(message.len() <= MAX_BYTES);
        assert_eq!(read(&message), Some(mapping));
        assert_eq!(read(&message[..message.len() - 1]), None);
        assert_eq!(read(b"\x01x"), None);
    }
}
