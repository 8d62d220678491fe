//! The arguments of `run`, as far as they are about the connections to move.

use std::ffi::OsString;

/// The connections to move, and facts about the program's connections.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// `ADDRESS=SOCKET`; if there are any, no servers are looked for.
    pub map: &'a [String],
    /// `ADDRESS=SOCKET`, beside what is found.
    pub also: &'a [String],
    /// Only the servers on these ports; empty means all.
    pub ports: &'a [u16],
    /// The connections that are tried beforehand.
    pub login: &'a [String],
    /// Whether nothing is tried beforehand.
    pub no_login: bool,
    /// Whether a port stays on TCP where only a known connection could tell.
    pub require_login: bool,
    pub command: &'a [OsString],
}
