//! The endpoints of arms. Decides which connections belong to an arm.

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
    /// A socket's abstract name, without the zero byte at its start.
    Abstract(Vec<u8>),
    Tcp(SocketAddr),
}

impl Endpoint {
    /// Makes the endpoint of a socket path, if the path is within the kernel's length limit.
    ///
    /// # Errors
    /// [`PathError::TooLong`] if it has more than [`MAX_SOCKET_PATH_BYTES`] bytes.
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

/// Returns the host that an arm's connections are opened from, if the server is in a container.
pub fn host_of(arm: Arm) -> Option<Host> {
    match arm {
        Arm::Bridge | Arm::Proxy | Arm::Pasta => Some(Host::Plain),
        Arm::Nat => Some(Host::Nat),
        _ => None,
    }
}

/// Returns whether a connection of this family can belong to this arm.
pub(crate) fn has_family(arm: Arm, family: Family) -> bool {
    match family {
        Family::Unix => arm.is_unix(),
        Family::Inet => !arm.is_unix() && arm != Arm::Tcp6,
        // If the user gave an IPv6 address for the server, the arm `tcp` uses that address.
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
