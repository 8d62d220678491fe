//! What `check` takes.

use std::path::PathBuf;

use clap::Args;

use super::{JsonArgs, PeerArgs};

/// Options of `check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// A URL, configuration files, a folder, or a process; without one, all programs here that use TCP.
    ///
    /// The URL is the connection as it is now, over TCP: `mysql://user@127.0.0.1/db`, `postgres://…`, `redis://…`,
    /// `memcached://…`; its password is in `LOOPTAX_PASSWORD`.
    ///
    /// A file is an application's configuration: wp-config.php, .env, settings.py, database.yml and those of some hundred
    /// others. Each connection in it is checked, with the lines to change. Of a folder every file below it that is known is
    /// read, also those that .gitignore names, as .env often is; links, .git, `node_modules`, vendor and virtual
    /// environments of Python are left out. A word with `://`, `=` or `@` is a URL unless a file has that name.
    ///
    /// A number is a process: its connections are looked for in its environment, in the configuration files of its working
    /// folder, and among the servers that it is connected to over TCP. `./123` is a file.
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,
    /// Print SARIF by the text of the files only; ask no server.
    ///
    /// Print SARIF 2.1.0 instead, by the text of the files only: no server is asked, and no program started. A fix
    /// rests on the usual path of the server's socket, or on --socket.
    #[arg(long, requires = "targets", conflicts_with_all = ["pid", "user", "connections", "verbose", "json"])]
    pub(crate) sarif: bool,
    /// Name the application whose file it is.
    ///
    /// Which application's FILE it is, where its name and its words leave that open.
    #[arg(long = "as", value_name = "NAME", requires = "targets")]
    pub(crate) application: Option<String>,
    /// The client's process, for its user, its folders and its confinement.
    ///
    /// With a URL or a file the connections are those of TARGET. Without TARGET it is the process to check.
    #[arg(long, value_name = "PID", conflicts_with = "user")]
    pub(crate) pid: Option<u32>,
    /// The client's user, such as www-data (default: you).
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The server's socket, or its folder.
    ///
    /// The server's socket, or its folder. Default: that of the server that listens on the
    /// DSN's port here.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Connections that the client opens at once when it starts.
    ///
    /// Connections that come at once when the client starts: PHP-FPM's `pm.max_children`, workers times
    /// pool size. Default: the most that is counted: `pm.max_children`, Gunicorn's workers times threads, other workers,
    /// the pool of FILE, and what is open to the server now.
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// Print every point, and how it is known.
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// What the child is told that goes the way to the socket as the client.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReachArgs {
    /// The socket.
    #[arg(long)]
    pub(crate) socket: PathBuf,
    /// The process whose folders count.
    #[arg(long)]
    pub(crate) view: Option<u32>,
    /// User to become.
    #[arg(long, requires = "gid")]
    pub(crate) uid: Option<u32>,
    /// Group to become.
    #[arg(long)]
    pub(crate) gid: Option<u32>,
    /// Further groups.
    #[arg(long, value_delimiter = ',')]
    pub(crate) groups: Vec<u32>,
}
