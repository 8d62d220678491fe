//! Options of `dsn`.

use std::path::PathBuf;

use clap::Args;

use super::JsonArgs;

/// Options of `dsn`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "The URL may use TCP or a socket: mysql://user:password@127.0.0.1/db, \
postgres:///db?host=/run/postgresql, redis://127.0.0.1/2, unix:///run/redis.sock, memcached://127.0.0.1, \
mongodb://127.0.0.1/db, fastcgi://127.0.0.1:9000, http://127.0.0.1:8000, uwsgi://127.0.0.1:3031. \
In a password, write every character except letters and digits as %XX.")]
pub(crate) struct DsnArgs {
    /// URL of the connection as it is now.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Only these drivers, applications or languages.
    ///
    /// A driver, framework or application (mysqli, pgx, wordpress), a language (php, python), or all.
    #[arg(long = "for", value_delimiter = ',', default_value = "all", value_name = "NAME,…")]
    pub(crate) wanted: Vec<String>,
    /// The server's socket, or the socket's folder.
    ///
    /// Default: the socket in the URL, or the socket of the server that listens on the URL's port on this machine, or
    /// the usual path.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Print which transport each driver uses for this URL, and why.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print the password instead of ****.
    #[arg(long)]
    pub(crate) show_password: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
