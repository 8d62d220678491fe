//! The input to a check of one connection, from the commands and from files.

use std::path::Path;

use looptax_advise::app::Pool;
use looptax_model::dsn::Address;

use super::client::Client;
use crate::diagnose::socket_of::Near;

/// The input of a check: would this client reach this server over the server's socket?
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The connection's address as it is at present.
    pub address: &'a Address,
    pub client: &'a Client,
    /// The servers on this machine, as the client sees them.
    pub near: Near<'a>,
    pub socket: Option<&'a Path>,
    /// How many connections are opened at the same time, if the caller passed the number; otherwise looptax counts
    /// them.
    pub n_connections: Option<u32>,
    /// The connection pool of each client process, according to the pool's file.
    pub pool: Option<&'a Pool>,
    /// The name of the file in which the connection was found.
    pub source: Option<&'a str>,
    /// Why looptax tries no login; set if the user or the password is not known.
    pub no_login: Option<&'a str>,
}

impl<'a> Question<'a> {
    pub fn of(address: &'a Address, client: &'a Client, near: Near<'a>) -> Self {
        Self { address, client, near, socket: None, n_connections: None, pool: None, source: None, no_login: None }
    }
}
