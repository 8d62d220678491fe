//! Facts about a login of MySQL or MariaDB, and about the account of the login.

use super::effective::Effective;
use crate::check::grants::{Rights, Server};

/// A login over one transport, as the server reports it.
#[derive(Debug, Clone, Default)]
pub struct MysqlLogin {
    /// The kind of server, which decides the rules and the messages.
    pub server: Server,
    /// `CURRENT_USER()`: the account that the server chose; empty if the login failed.
    pub account: String,
    /// The account's rights according to `SHOW GRANTS`.
    pub rights: Rights,
    pub databases: Vec<String>,
    /// Whether a role is in use from the beginning of the session.
    pub has_active_role: bool,
    /// The rights that the server reports for the database's columns; `None` if it did not report all columns.
    pub effective: Option<Effective>,
    /// The plugin that authenticates the account, such as `caching_sha2_password`; empty if the server did not report
    /// it.
    pub plugin: String,
    /// Whether the server checks the user of the operating system instead of a password.
    pub asks_system: bool,
    /// Whether the server accepts this login only over TLS.
    pub needs_tls: bool,
    pub refusal: Option<Refusal>,
    /// The server's error, if the server refuses only the database.
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
    /// `ANY`, `X509` or `SPECIFIED`; empty if the account does not demand TLS.
    pub ssl_type: String,
}

/// The known facts about an account `user@localhost` that cannot log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketRow {
    /// It is not known whether the account exists.
    Unknown,
    /// The account does not exist.
    Absent,
    Present,
    /// The account exists, and the server checks the user of the operating system instead of a password.
    AsksSystem,
    /// The account does not exist, or the server checks the user of the operating system.
    MayAskSystem,
    Locked,
    Expired,
}
