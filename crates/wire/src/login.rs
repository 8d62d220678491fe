//! The input of a login: the user, the password, the kind of channel.

use std::io::{self, Read, Write};

use looptax_model::dsn::Secret;

use crate::scram::Salted;

/// A byte stream with its own time limits; if one is exceeded, `read` returns `WouldBlock` or `TimedOut`.
pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// The account that logs in, and the database to log in to.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// User name; empty for Redis's default user.
    pub user: String,
    /// Password; empty if there is no password.
    pub password: Secret,
    /// The database (Redis: its number); `None` for the server's default. HTTP: the page to request; PHP-FPM: the
    /// folder of the site's scripts.
    pub database: Option<String>,
    /// `MongoDB`: the database that holds the account, if it is not the usual one.
    pub accounts: Option<String>,
    /// Keeps the salted password of SCRAM for the next login.
    pub salted: Salted,
    /// Whether the user has enabled MySQL's `mysql_clear_password`. MySQL's own clients also use this plugin only if it
    /// is enabled.
    pub enables_clear: bool,
    /// Whether looptax started the server. If it did, no other program knows the password, which is valid only for this
    /// server.
    pub is_for_own_server: bool,
}

impl Login {
    /// Returns the page or folder of a site; `/` by default.
    pub fn place(&self) -> &str {
        self.database.as_deref().unwrap_or("/")
    }
}

/// The kind of channel to the server; it decides whether a password may be sent in clear text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// A Unix domain socket: no other program can read the bytes, so clear text is safe.
    Local,
    /// TCP without TLS, within this machine.
    PlainTcp,
    /// TCP without TLS to another machine: any program may answer.
    Foreign,
    Tls,
}

impl Channel {
    pub(crate) fn is_private(self) -> bool {
        matches!(self, Self::Local | Self::Tls)
    }
}

/// Starts TLS on a stream in the middle of a login; all bytes written and read afterwards are encrypted.
pub type StartTls<'a, S> = &'a mut dyn FnMut(&mut S) -> io::Result<()>;
