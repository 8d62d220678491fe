//! What a person asks of `run`, as far as it is about what is moved.

use std::ffi::OsString;

/// What is to be moved, and what is known of the program's connections.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// `ADDRESS=SOCKET`; where there are any, nothing is looked for.
    pub map: &'a [String],
    /// `ADDRESS=SOCKET`, beside what is found.
    pub also: &'a [String],
    /// Only the servers on these ports; all where there are none.
    pub ports: &'a [u16],
    /// The connections that are tried beforehand.
    pub login: &'a [String],
    /// Whether nothing is tried beforehand.
    pub no_login: bool,
    /// Whether a port stays on TCP where only a known connection could tell.
    pub require_login: bool,
    pub command: &'a [OsString],
}
