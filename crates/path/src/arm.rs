//! The arms' names, and the endpoints they lead to.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::{Family, Host, PathError};

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
    /// A Unix domain socket with an abstract name.
    Abstract,
    /// TCP over IPv4 loopback.
    Tcp,
    /// TCP over IPv6 loopback.
    Tcp6,
    /// TLS over `Tcp`.
    Tls,
    /// TLS over `Unix`.
    TlsUnix,
    /// TCP to a container's own address, over a virtual Ethernet pair and a bridge.
    Bridge,
    /// TCP to a port of the host that the kernel translates to the container's.
    Nat,
    /// TCP to a port of the host that a process copies to the container's.
    Proxy,
    /// `Tcp` whose two ends the kernel was told to splice.
    Sockmap,
    /// Opened as TCP and moved to the Unix socket, as `looptax run` does for a program.
    Redirect,
}

impl Arm {
    /// All arms of this version.
    pub const ALL: [Self; 11] = [
        Self::Unix,
        Self::Abstract,
        Self::Tcp,
        Self::Tcp6,
        Self::Tls,
        Self::TlsUnix,
        Self::Bridge,
        Self::Nat,
        Self::Proxy,
        Self::Sockmap,
        Self::Redirect,
    ];

    /// The word for it, in options, records and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Abstract => "abstract",
            Self::Tcp => "tcp",
            Self::Tcp6 => "tcp6",
            Self::Tls => "tls",
            Self::TlsUnix => "tls-unix",
            Self::Bridge => "bridge",
            Self::Nat => "nat",
            Self::Proxy => "proxy",
            Self::Sockmap => "sockmap",
            Self::Redirect => "redirect",
        }
    }

    /// Whether its bytes travel through a Unix socket.
    pub fn is_unix(self) -> bool {
        matches!(
            self,
            Self::Unix | Self::Abstract | Self::TlsUnix | Self::Redirect
        )
    }

    /// Whether its bytes are sealed.
    pub fn is_tls(self) -> bool {
        matches!(self, Self::Tls | Self::TlsUnix)
    }

    /// The host that it is opened from, where the server is in a container.
    pub fn host(self) -> Option<Host> {
        match self {
            Self::Bridge | Self::Proxy => Some(Host::Plain),
            Self::Nat => Some(Host::Nat),
            _ => None,
        }
    }

    /// Whether a connection of this family can be of this arm.
    pub(crate) fn has_family(self, family: Family) -> bool {
        match family {
            Family::Unix => self.is_unix(),
            Family::Inet => !self.is_unix() && self != Self::Tcp6,
            // A server that was named by an IPv6 address has its `tcp` there.
            Family::Inet6 => matches!(self, Self::Tcp | Self::Tcp6 | Self::Tls),
            Family::Other(_) => false,
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
    /// A socket's abstract name, without the zero byte before it.
    Abstract(Vec<u8>),
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
            Self::Abstract(name) => write!(f, "@{}", String::from_utf8_lossy(name)),
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
        assert_eq!("tls-unix".parse(), Ok(Arm::TlsUnix));
        assert!("loopback".parse::<Arm>().is_err());
        for arm in Arm::ALL {
            assert_eq!(arm.name().parse(), Ok(arm));
        }
    }
}
