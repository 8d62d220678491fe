//! What is known of a login of MySQL or MariaDB, and of the account behind it.

use super::effective::Effective;
use crate::check::grants::{Rights, Server};

/// A login over one transport, as the server told of it.
#[derive(Debug, Clone, Default)]
pub struct MysqlLogin {
    /// Whose rules and words they are.
    pub server: Server,
    /// `CURRENT_USER()`: the account that was chosen; empty when the login failed.
    pub account: String,
    /// By `SHOW GRANTS`.
    pub rights: Rights,
    pub databases: Vec<String>,
    /// Whether a role is in use from the login on.
    pub has_active_role: bool,
    /// What the server says of the database's columns; `None` where it did not tell of all of them.
    pub effective: Option<Effective>,
    /// How the account is asked who it is: `caching_sha2_password`; empty where the server did not tell.
    pub plugin: String,
    /// Whether the server asks the operating system who somebody is, in place of a password.
    pub asks_system: bool,
    /// Whether the server takes it over TLS alone.
    pub needs_tls: bool,
    pub refusal: Option<Refusal>,
    /// The server's refusal of the database alone.
    pub database_refusal: Option<String>,
}

/// Why somebody does not get in.
#[derive(Debug, Clone, Default)]
pub struct Refusal {
    pub words: String,
    /// The server's number; empty where it was not the server.
    pub code: String,
}

/// An account as `mysql.user` has it, where we may read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MysqlAccount {
    pub host: String,
    pub plugin: String,
    /// `ANY`, `X509`, `SPECIFIED`; empty where TLS is not demanded.
    pub ssl_type: String,
}

/// What is known of `user@localhost`, who does not get in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketRow {
    /// Nothing.
    Unknown,
    /// There is none.
    Absent,
    Present,
    /// It is there, and the operating system is asked who somebody is.
    AsksSystem,
    Locked,
    Expired,
}
