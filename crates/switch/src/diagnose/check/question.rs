//! What a check of one connection is asked, by the commands and by what is found in files.

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
    /// What runs here, as the client sees it.
    pub near: Near<'a>,
    pub socket: Option<&'a Path>,
    /// How many connections come at once, if somebody said that; else they are counted.
    pub n_connections: Option<u32>,
    /// The pool of each of the client's processes, by its file.
    pub pool: Option<&'a Pool>,
    /// Where the connection was found: a file's name.
    pub source: Option<&'a str>,
    /// Why nobody logs in: user or password are not known.
    pub no_login: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// Of an address alone.
    pub fn of(address: &'a Address, client: &'a Client, near: Near<'a>) -> Self {
        Self { address, client, near, socket: None, n_connections: None, pool: None, source: None, no_login: None }
    }
}
