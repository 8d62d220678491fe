//! What `dsn` takes.

use std::path::PathBuf;

use clap::Args;

use super::JsonArgs;

/// Options of `dsn`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "The URL may be one over TCP or over a socket: mysql://user:password@127.0.0.1/db, \
postgres:///db?host=/run/postgresql, redis://127.0.0.1/2, unix:///run/redis.sock, memcached://127.0.0.1, \
mongodb://127.0.0.1/db, fastcgi://127.0.0.1:9000, http://127.0.0.1:8000, uwsgi://127.0.0.1:3031. \
What is no letter or digit in a password has to be written as %XX.")]
pub(crate) struct DsnArgs {
    /// The connection as it is now.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Only these drivers, applications or languages.
    ///
    /// Only for these: a driver, framework or application (mysqli, pgx, wordpress), or a language (php,
    /// python); all: every one.
    #[arg(long = "for", value_delimiter = ',', default_value = "all", value_name = "NAME,…")]
    pub(crate) wanted: Vec<String>,
    /// The server's socket, or its folder.
    ///
    /// The server's socket, or its folder. Default: the URL's own, or that of the server that
    /// listens on the URL's port here, or the usual one.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Print which transport each driver takes for this URL, and why.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print the password instead of ****.
    #[arg(long)]
    pub(crate) show_password: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
