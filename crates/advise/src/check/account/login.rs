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
    /// The databases that it sees.
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
    /// The server's refusal.
    pub refusal: Option<Refusal>,
    /// The server's refusal of the database alone.
    pub database_refusal: Option<String>,
}

/// Why somebody does not get in.
#[derive(Debug, Clone, Default)]
pub struct Refusal {
    /// For a person.
    pub words: String,
    /// The server's number; empty where it was not the server.
    pub code: String,
}

/// An account as `mysql.user` has it, where we may read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MysqlAccount {
    /// Its host part.
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
    /// It is there.
    Present,
    /// It is there, and the operating system is asked who somebody is.
    AsksSystem,
    /// Somebody locked it.
    Locked,
    /// Its password has expired.
    Expired,
}
