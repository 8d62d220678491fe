//! The endpoints that arms lead to, and what a connection of an arm must be.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_model::dsn::Arm;

use crate::path::error::MAX_SOCKET_PATH_BYTES;
use crate::path::{Family, Host, PathError};

/// An address that a server listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    Unix(PathBuf),
    /// A socket's abstract name, without the zero byte before it.
    Abstract(Vec<u8>),
    Tcp(SocketAddr),
}

impl Endpoint {
    /// Checks a socket path against the kernel's length limit.
    ///
    /// # Errors
    /// [`PathError::TooLong`] over [`MAX_SOCKET_PATH_BYTES`].
    pub fn unix(path: &Path) -> Result<Self, PathError> {
        let bytes = path.as_os_str().len();
        if bytes > MAX_SOCKET_PATH_BYTES {
            return Err(PathError::TooLong { path: path.to_owned(), bytes });
        }
        Ok(Self::Unix(path.to_owned()))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Abstract(name) => write!(f, "@{}", String::from_utf8_lossy(name)),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// The host that an arm's connections are opened from, where the server is in a container.
pub fn host_of(arm: Arm) -> Option<Host> {
    match arm {
        Arm::Bridge | Arm::Proxy => Some(Host::Plain),
        Arm::Nat => Some(Host::Nat),
        _ => None,
    }
}

/// Whether a connection of this family can be of this arm.
pub(crate) fn has_family(arm: Arm, family: Family) -> bool {
    match family {
        Family::Unix => arm.is_unix(),
        Family::Inet => !arm.is_unix() && arm != Arm::Tcp6,
        // A server that was named by an IPv6 address has its `tcp` there.
        Family::Inet6 => matches!(arm, Arm::Tcp | Arm::Tcp6 | Arm::Tls),
        Family::Other(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_107_bytes_fits_and_one_of_108_does_not() {
        assert!(Endpoint::unix(Path::new(&"x".repeat(107))).is_ok());
        assert!(matches!(Endpoint::unix(Path::new(&"x".repeat(108))), Err(PathError::TooLong { bytes: 108, .. })));
    }
}
