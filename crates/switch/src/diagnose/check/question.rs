//! What a check of one connection is asked, by the commands and by what is found in files.

use std::path::Path;

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
    pub n_connections: u32,
    /// Why nobody logs in: user or password are not known.
    pub no_login: Option<&'a str>,
}
