//! The arguments of `run` that are about the connections to move.

use std::ffi::OsString;

/// The connections to move, and facts about the program's connections.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// `ADDRESS=SOCKET`; if there are any, looptax does not look for servers.
    pub map: &'a [String],
    /// `ADDRESS=SOCKET`, in addition to the servers that looptax finds.
    pub also: &'a [String],
    /// Move only connections to servers on these ports; empty means all ports.
    pub ports: &'a [u16],
    /// The connections to try before the program starts.
    pub login: &'a [String],
    /// Whether looptax tries no connection before the program starts.
    pub no_login: bool,
    /// Whether a port stays on TCP if only a known connection could decide.
    pub require_login: bool,
    pub command: &'a [OsString],
}
