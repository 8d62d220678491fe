//! The arguments of `run` that say which connections to move.

use std::ffi::OsString;

/// The connections to move, and facts about the program's connections.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The values `ADDRESS=SOCKET` of `--map`; if there are any, looptax does not look for servers.
    pub map: &'a [String],
    /// The values `ADDRESS=SOCKET` of `--also`, in addition to the servers that looptax finds.
    pub also: &'a [String],
    /// The ports of the servers whose connections are moved; empty means all ports.
    pub ports: &'a [u16],
    /// The connections to try before the program starts.
    pub login: &'a [String],
    /// Whether looptax skips trying connections before the program starts.
    pub no_login: bool,
    /// Whether a port stays on TCP if the decision depends on an account that looptax does not know.
    pub require_login: bool,
    pub command: &'a [OsString],
}
