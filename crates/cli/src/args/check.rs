//! Options of `check`.

use std::path::PathBuf;

use clap::Args;

use super::{JsonArgs, PeerArgs};

/// Options of `check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// A URL, configuration files, a folder, or a process; without one, all programs here that use TCP.
    ///
    /// The URL is the present connection over TCP: `mysql://user@127.0.0.1/db`, `postgres://…`, `redis://…`,
    /// `memcached://…`; its password is in `LOOPTAX_PASSWORD`. A word with `://`, `=` or `@` is a URL unless a file
    /// has that name.
    ///
    /// A file is an application's configuration: wp-config.php, .env, settings.py, database.yml or the file of one of
    /// some hundred other applications. looptax checks each connection in it and prints the lines to change. In a
    /// folder it reads every file that it knows, also in the folders below and if .gitignore names the file, which is
    /// usual for .env. It leaves out links, .git, `node_modules`, vendor and virtual environments of Python.
    ///
    /// A number is a process. looptax searches its environment, the configuration files of its working folder, and
    /// the servers that it is connected to over TCP. `./123` is a file.
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,
    /// Print SARIF by the text of the files only; ask no server.
    ///
    /// The output is SARIF 2.1.0. looptax contacts no server and starts no program. A fix assumes the usual path of
    /// the server's socket, or that of --socket.
    #[arg(long, requires = "targets", conflicts_with_all = ["pid", "user", "connections", "verbose", "json"])]
    pub(crate) sarif: bool,
    /// Name the application whose file it is.
    ///
    /// Needed only if the name and the text of the file do not show it.
    #[arg(long = "as", value_name = "NAME", requires = "targets")]
    pub(crate) application: Option<String>,
    /// The client's process, for its user, its folders and its confinement.
    ///
    /// With a URL or a file the connections are those of TARGET. Without TARGET this process is checked.
    #[arg(long, value_name = "PID", conflicts_with = "user")]
    pub(crate) pid: Option<u32>,
    /// The client's user, such as www-data (default: you).
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The server's socket, or its folder.
    ///
    /// Default: the socket of the server that listens on the URL's port here.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Connections that the client opens at once when it starts.
    ///
    /// For example PHP-FPM's `pm.max_children`, or workers times pool size. Default: the largest of the numbers that
    /// looptax can count: `pm.max_children`, Gunicorn's workers times threads, other workers, the pool size in FILE,
    /// and the connections that are open now.
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// Print every point, and how it is known.
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Arguments of the child process that tries to reach the socket as the client.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReachArgs {
    /// The socket.
    #[arg(long)]
    pub(crate) socket: PathBuf,
    /// The process whose root folder and mounts apply.
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
