//! What is known before the logins over TCP and over the socket, and what each of the two leaves.
//!
//! Plain data for `logins` and for the questions of each protocol.

use std::net::SocketAddr;

use looptax_discover::Server;
use looptax_dsn::Address;
use looptax_path::Conversation;

use crate::check::client::Client;
use crate::socket_of::SocketOf;

/// A login that is to be compared over both transports: who makes it, and where each of them leads.
pub(in crate::check) struct Sides<'a> {
    pub address: &'a Address,
    pub tcp: SocketAddr,
    pub socket: &'a SocketOf,
    pub server: Option<&'a Server>,
    pub client: &'a Client,
    /// Whether the client reaches the socket; else we log in as ourselves, to tell at least the rest.
    pub is_reachable: bool,
}

/// A connection that is logged in, or why it is not, with the causes.
pub(in crate::check) struct Opened {
    pub conversation: Result<Conversation, String>,
    /// Who opened it, for a person.
    pub whom: String,
    /// Whether somebody was there, who may then have refused us.
    pub is_met: bool,
}
