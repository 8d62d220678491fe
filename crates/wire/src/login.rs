//! The input of a login: the user, the secret, the kind of channel.

use std::io::{self, Read, Write};

use looptax_model::dsn::Secret;

use crate::scram::Salted;

/// A byte stream with time limits of its own (`read` gives `WouldBlock` or `TimedOut` when they pass).
pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Who logs in, and where to.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// User name; empty for Redis's default user.
    pub user: String,
    /// Password; empty for none.
    pub password: Secret,
    /// Database (Redis: its number); `None` for the server's default. HTTP: the page that is asked for; PHP-FPM: the
    /// folder of the site's scripts.
    pub database: Option<String>,
    /// `MongoDB`: the database that holds the account, where it is another than is usual.
    pub accounts: Option<String>,
    /// The data that is kept for the next login.
    pub salted: Salted,
    /// Whether the user has enabled MySQL's `mysql_clear_password`, as its own clients require it, too.
    pub enables_clear: bool,
    /// Whether the server is one that we started: no other program knows its password, which opens nothing else.
    pub is_for_own_server: bool,
}

impl Login {
    /// The page or folder of a site; `/` by default.
    pub fn place(&self) -> &str {
        self.database.as_deref().unwrap_or("/")
    }
}

/// The channel between us and the server: decides whether a password may travel in clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// A Unix domain socket: no other program can listen in, so clear text is safe.
    Local,
    /// TCP without TLS, within this machine.
    PlainTcp,
    /// TCP without TLS, to another machine: anybody may answer.
    Foreign,
    Tls,
}

impl Channel {
    pub(crate) fn is_private(self) -> bool {
        matches!(self, Self::Local | Self::Tls)
    }
}

/// Starts TLS on a stream in the middle of a login; what is read and written afterwards is sealed.
pub type StartTls<'a, S> = &'a mut dyn FnMut(&mut S) -> io::Result<()>;
