//! The input to a check of one connection, from the commands and from files.

use std::path::Path;

use looptax_advise::app::Pool;
use looptax_model::dsn::Address;

use super::client::Client;
use crate::diagnose::socket_of::Near;

/// What is asked: would this client reach that server over its socket?
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The connection as it is now.
    pub address: &'a Address,
    pub client: &'a Client,
    /// The servers here, as the client sees them.
    pub near: Near<'a>,
    pub socket: Option<&'a Path>,
    /// How many connections come at once, if somebody said that; else they are counted.
    pub n_connections: Option<u32>,
    /// The pool of each of the client's processes, by its file.
    pub pool: Option<&'a Pool>,
    /// Where the connection was found: a file's name.
    pub source: Option<&'a str>,
    /// Why no login is tried: user or password are not known.
    pub no_login: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// A question about an address only.
    pub fn of(address: &'a Address, client: &'a Client, near: Near<'a>) -> Self {
        Self { address, client, near, socket: None, n_connections: None, pool: None, source: None, no_login: None }
    }
}
