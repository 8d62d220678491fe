//! The transports from a client to a server on the same machine.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The transport of a client's connections to a server on the same machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Way {
    /// A Unix socket.
    #[serde(rename = "unix")]
    Unix,
    /// TCP over 127.0.0.0/8.
    #[serde(rename = "loopback")]
    Loopback,
    /// TCP over `::1`.
    #[serde(rename = "loopback6")]
    Loopback6,
    /// TCP to an address of this machine that is not a loopback address; the data also goes through the loopback
    /// interface.
    #[serde(rename = "own address")]
    OwnAddress,
    /// TCP between two network namespaces.
    #[serde(rename = "bridge")]
    Bridge,
}

impl Way {
    pub const fn is_tcp(self) -> bool {
        !matches!(self, Self::Unix)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unix => "unix",
            Self::Loopback => "loopback",
            Self::Loopback6 => "loopback6",
            Self::OwnAddress => "own address",
            Self::Bridge => "bridge",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_printed_as_it_is_saved() {
        for way in [Way::Unix, Way::Loopback, Way::Loopback6, Way::OwnAddress, Way::Bridge] {
            assert_eq!(serde_json::to_value(way).unwrap(), way.to_string());
        }
    }
}
