//! Which addresses are moved to which sockets: plain data from the caller, and the lookup.
//!
//! Only the exact address counts: 127.0.0.1 does not include the rest of 127.0.0.0/8, where other services may listen.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::RedirectError;
use crate::page::MAX_ROUTES;

/// The longest path that fits into a socket address, without the final zero.
///
/// # Source
/// unix(7): `sun_path` has 108 bytes.
pub(crate) const MAX_PATH_BYTES: usize = 107;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// One route per address.
    pub routes: Vec<Route>,
}

/// An address, and the socket of the same server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub from: SocketAddr,
    pub to: SocketName,
    /// The only server that may receive connections. `None`: any process that listens at the socket.
    pub owner: Option<Owner>,
    /// Settings that keep a process on TCP.
    pub demands: Vec<Demand>,
}

/// How a listening socket is recognised. If another user can write to a folder in the path, that user can make the path
/// lead to another socket; the user and the bound name of a listening socket cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The server's effective user; root may listen instead.
    pub uid: u32,
    /// The name that the server bound, as a path in the server's own mounts.
    pub bound: SocketName,
}

/// Words in a process's arguments or environment. They show that the process needs something that a Unix socket does
/// not provide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// The words; only their letters and digits, `?` and `&` are compared, and case does not matter.
    pub words: String,
    /// Letters and digits, in lower case, that make the demand harmless if they follow the words.
    pub harmless: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketName {
    Path(PathBuf),
    /// An abstract name, without the zero byte at its start.
    Abstract(Vec<u8>),
}

impl Mapping {
    /// Checks that a run can use this mapping; [`crate::run`] calls this itself.
    ///
    /// # Errors
    /// [`RedirectError::PathTooLong`], [`RedirectError::ZeroByte`] and [`RedirectError::TooManyRoutes`].
    pub fn check(&self) -> Result<(), RedirectError> {
        if self.routes.len() > MAX_ROUTES {
            return Err(RedirectError::TooManyRoutes { n: self.routes.len(), at_most: MAX_ROUTES });
        }
        for route in &self.routes {
            let (bytes, path) = match &route.to {
                SocketName::Path(path) => (path.as_os_str().as_bytes(), path.clone()),
                SocketName::Abstract(name) => (&**name, PathBuf::from(format!("@{}", String::from_utf8_lossy(name)))),
            };
            if bytes.len() > MAX_PATH_BYTES {
                return Err(RedirectError::PathTooLong { n_bytes: bytes.len(), path });
            }
            if matches!(route.to, SocketName::Path(_)) && bytes.contains(&0) {
                return Err(RedirectError::ZeroByte { text: path.into_os_string() });
            }
        }
        Ok(())
    }

    /// Returns the index of the route for an address to which a program connects; an IPv4 address inside an IPv6 one
    /// counts as the IPv4 address.
    pub(crate) fn find(&self, address: SocketAddr) -> Option<usize> {
        let wanted = plain(address);
        let mut routes = self.routes.iter();
        routes.position(|route| plain(route.from) == wanted)
    }
}

fn plain(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(from: &[&str]) -> Mapping {
        let route = |from: &&str| Route {
            from: from.parse().unwrap(),
            to: SocketName::Path("/run/a.sock".into()),
            owner: None,
            demands: Vec::new(),
        };
        Mapping { routes: from.iter().map(route).collect() }
    }

    #[track_caller]
    fn check(address: &str, expected: Option<usize>) {
        let mapping = mapping(&["127.0.0.1:3306", "[::1]:3306"]);
        assert_eq!(mapping.find(address.parse().unwrap()), expected);
    }

    #[test]
    fn only_the_very_address_and_port_count() {
        check("127.0.0.1:3306", Some(0));
        check("[::ffff:127.0.0.1]:3306", Some(0));
        check("[::1]:3306", Some(1));
        check("127.0.0.11:3306", None);
        check("127.0.0.1:3307", None);
    }

    #[test]
    fn refuses_paths_that_no_address_can_hold() {
        let mut long = mapping(&["127.0.0.1:1"]);
        long.routes[0].to = SocketName::Path(format!("/{}", "x".repeat(MAX_PATH_BYTES)).into());
        assert!(matches!(long.check(), Err(RedirectError::PathTooLong { n_bytes: 108, .. })));
        long.routes[0].to = SocketName::Path("/a\0b".into());
        assert!(matches!(long.check(), Err(RedirectError::ZeroByte { .. })));
        long.routes[0].to = SocketName::Abstract(b"a\0b".to_vec());
        long.check().unwrap();
    }
}
