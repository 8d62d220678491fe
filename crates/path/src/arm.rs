//! The arms' names, and the endpoints they lead to.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::{Family, PathError};

/// Longest path that fits `sockaddr_un.sun_path` with its closing zero byte.
///
/// # Source
/// unix(7): `sun_path` has 108 bytes.
pub const MAX_SOCKET_PATH_BYTES: usize = 107;

/// One way to reach the server that takes part in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arm {
    /// A Unix domain socket with a path.
    Unix,
    /// TCP over IPv4 loopback.
    Tcp,
    /// Opened as TCP and moved to the Unix socket, as `looptax run` does for a program.
    Redirect,
}

impl Arm {
    /// All arms of this version.
    pub const ALL: [Self; 3] = [Self::Unix, Self::Tcp, Self::Redirect];

    /// The word for it, in options, records and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Tcp => "tcp",
            Self::Redirect => "redirect",
        }
    }
}

impl Arm {
    /// Whether a connection of this family can be of this arm.
    pub(crate) fn has_family(self, family: Family) -> bool {
        match self {
            Self::Unix | Self::Redirect => family == Family::Unix,
            Self::Tcp => matches!(family, Family::Inet | Family::Inet6),
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Arm {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|arm| arm.name() == word)
            .ok_or_else(|| {
                let known: Vec<_> = Self::ALL.iter().map(|arm| arm.name()).collect();
                format!("`{word}` is not an arm; known: {}", known.join(", "))
            })
    }
}

/// An address that a server listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A socket's path.
    Unix(PathBuf),
    /// An IP address and port.
    Tcp(SocketAddr),
}

impl Endpoint {
    /// A socket path, held against the kernel's limit.
    ///
    /// # Errors
    /// [`PathError::TooLong`] over [`MAX_SOCKET_PATH_BYTES`].
    pub fn unix(path: &Path) -> Result<Self, PathError> {
        let bytes = path.as_os_str().len();
        if bytes > MAX_SOCKET_PATH_BYTES {
            return Err(PathError::TooLong {
                path: path.to_owned(),
                bytes,
            });
        }
        Ok(Self::Unix(path.to_owned()))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_107_bytes_fits_and_one_of_108_does_not() {
        assert!(Endpoint::unix(Path::new(&"x".repeat(107))).is_ok());
        assert!(matches!(
            Endpoint::unix(Path::new(&"x".repeat(108))),
            Err(PathError::TooLong { bytes: 108, .. })
        ));
    }

    #[test]
    fn arms_are_read_by_their_names() {
        assert_eq!("tcp".parse(), Ok(Arm::Tcp));
        assert!("bridge".parse::<Arm>().is_err());
    }
}
