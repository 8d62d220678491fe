//! The arms: the names of the transports that take part in a comparison.

use std::fmt;
use std::str::FromStr;

/// An arm: one of the transports that take part in a comparison.
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
    /// TCP to a port of the host; the kernel translates this port to the container's port.
    Nat,
    /// TCP to a port of the host; a process copies the data to the container's port.
    Proxy,
    /// TCP to a port of the host; `pasta` copies the data to the same port of the container's loopback, as rootless
    /// Podman does.
    Pasta,
    /// A connection that is opened over TCP and then moved to the Unix socket, as `looptax run` does for a program.
    Redirect,
    /// A Unix socket to a pooler, and another Unix socket from the pooler to the server.
    UnixUnix,
    /// TCP to a pooler, and a Unix socket from the pooler to the server.
    TcpUnix,
    /// A Unix socket to a pooler, and TCP from the pooler to the server.
    UnixTcp,
    /// TCP to a pooler, and TCP from the pooler to the server.
    TcpTcp,
}

impl Arm {
    pub const ALL: [Self; 15] = [
        Self::Unix,
        Self::Abstract,
        Self::Tcp,
        Self::Tcp6,
        Self::Tls,
        Self::TlsUnix,
        Self::Bridge,
        Self::Nat,
        Self::Proxy,
        Self::Pasta,
        Self::Redirect,
        Self::UnixUnix,
        Self::TcpUnix,
        Self::UnixTcp,
        Self::TcpTcp,
    ];

    /// The arms through a pooler, starting with the arm that uses two sockets.
    pub const POOLED: [Self; 4] = [Self::UnixUnix, Self::TcpUnix, Self::UnixTcp, Self::TcpTcp];

    /// Returns the arm's name in options, records and reports.
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
            Self::Pasta => "pasta",
            Self::Redirect => "redirect",
            Self::UnixUnix => "unix+unix",
            Self::TcpUnix => "tcp+unix",
            Self::UnixTcp => "unix+tcp",
            Self::TcpTcp => "tcp+tcp",
        }
    }

    /// Returns whether the arm's bytes leave the client through a Unix socket.
    pub fn is_unix(self) -> bool {
        matches!(self, Self::Unix | Self::Abstract | Self::TlsUnix | Self::Redirect | Self::UnixUnix | Self::UnixTcp)
    }

    /// Returns the transport from a pooler to the server; `None` for an arm without a pooler.
    pub fn second_hop(self) -> Option<Self> {
        match self {
            Self::UnixUnix | Self::TcpUnix => Some(Self::Unix),
            Self::UnixTcp | Self::TcpTcp => Some(Self::Tcp),
            _ => None,
        }
    }

    /// Returns whether a process copies the arm's bytes to the container.
    pub fn is_relayed(self) -> bool {
        matches!(self, Self::Proxy | Self::Pasta)
    }

    pub fn is_tls(self) -> bool {
        matches!(self, Self::Tls | Self::TlsUnix)
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
        Self::ALL.into_iter().find(|arm| arm.name() == word).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|arm| arm.name()).collect();
            format!("`{word}` is not an arm; the arms are {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
