//! What is asked of the server, request after request.

use std::fmt;

/// One kind of request. Which exist depends on the protocol: see [`crate::Conversation::codec`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workload {
    /// `SELECT c FROM <table> WHERE id = ?`, prepared.
    PointSelect {
        /// The table, with sysbench's columns.
        table: String,
    },
    /// A prepared statement that returns 120 bytes and reads no table; Redis: GET of a missing key;
    /// echo: a round trip.
    Ping,
    /// Redis GET of `prefix` and a 12-digit number.
    Get {
        /// Start of every key.
        prefix: String,
    },
    /// Redis SET of `prefix` and a 12-digit number.
    Set {
        /// Start of every key.
        prefix: String,
        /// Size of the value in bytes.
        value_bytes: usize,
    },
}

impl Workload {
    /// The word for it, in options and records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PointSelect { .. } => "point-select",
            Self::Ping => "ping",
            Self::Get { .. } => "get",
            Self::Set { .. } => "set",
        }
    }

    /// Fewest bytes of data that a right answer holds: an empty row or a missing key is an error.
    pub fn least_data_bytes(&self) -> usize {
        match self {
            Self::PointSelect { .. } | Self::Get { .. } => 1,
            Self::Ping | Self::Set { .. } => 0,
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
