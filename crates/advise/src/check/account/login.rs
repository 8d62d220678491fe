//! The facts about a login of MySQL or MariaDB, and about its account.

use super::effective::Effective;
use crate::check::grants::{Rights, Server};

/// A login over one transport, as the server reported it.
#[derive(Debug, Clone, Default)]
pub struct MysqlLogin {
    /// The server whose rules and messages apply.
    pub server: Server,
    /// `CURRENT_USER()`: the account that the server chose; empty if the login failed.
    pub account: String,
    /// The rights, according to `SHOW GRANTS`.
    pub rights: Rights,
    pub databases: Vec<String>,
    /// Whether a role is in use from the start of the session.
    pub has_active_role: bool,
    /// The rights that the server reports for the database's columns; `None` if it did not report all columns.
    pub effective: Option<Effective>,
    /// The plugin that authenticates the account: `caching_sha2_password`; empty if the server did not report it.
    pub plugin: String,
    /// Whether the server checks the operating system's user instead of a password.
    pub asks_system: bool,
    /// Whether the server accepts this login only over TLS.
    pub needs_tls: bool,
    pub refusal: Option<Refusal>,
    /// The server's error if it refuses only the database.
    pub database_refusal: Option<String>,
}

/// Why a login fails.
#[derive(Debug, Clone, Default)]
pub struct Refusal {
    pub words: String,
    /// The server's error number; empty if the error did not come from the server.
    pub code: String,
}

/// A row of `mysql.user`, if looptax may read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MysqlAccount {
    pub host: String,
    pub plugin: String,
    /// `ANY`, `X509`, `SPECIFIED`; empty if TLS is not demanded.
    pub ssl_type: String,
}

/// The state of an account `user@localhost` that cannot log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketRow {
    /// Nothing is known about it.
    Unknown,
    /// There is no such account.
    Absent,
    Present,
    /// It exists, and the server checks the operating system's user instead of a password.
    AsksSystem,
    /// It does not exist, or the server checks the operating system's user.
    MayAskSystem,
    Locked,
    Expired,
}
