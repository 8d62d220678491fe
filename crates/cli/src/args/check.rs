//! Options of `check`.

use std::path::PathBuf;

use clap::Args;

use super::{JsonArgs, PeerArgs};

/// Options of `check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// A URL, configuration files, a folder, or a process; default: all programs here that use TCP.
    ///
    /// A URL is the connection that the client uses over TCP today: `mysql://user@127.0.0.1/db`, `postgres://…`,
    /// `redis://…`, `memcached://…`; put its password into `LOOPTAX_PASSWORD`. A word with `://`, `=` or `@` is a URL
    /// unless a file has that name.
    ///
    /// A file is an application's configuration: wp-config.php, .env, settings.py, database.yml or the file of one of
    /// a few hundred other applications. looptax checks each connection in the file and prints the lines to change.
    ///
    /// In a folder and its subfolders looptax reads every file that it knows, including files that .gitignore lists,
    /// such as .env. It skips links, .git, `node_modules`, vendor and virtual environments of Python.
    ///
    /// A number is a process. looptax inspects the environment of the process, the configuration files in its working
    /// folder, and the servers that it is connected to over TCP. To pass a file named 123, write `./123`.
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,
    /// Print SARIF about the configuration files; contact no server.
    ///
    /// SARIF 2.1.0 is a JSON format for the findings of code checkers. looptax starts no program. The proposed changes
    /// use the path of --socket, or by default the usual path of the server's socket.
    #[arg(long, requires = "targets", conflicts_with_all = ["pid", "user", "connections", "verbose", "json"])]
    pub(crate) sarif: bool,
    /// Name of the application that the file belongs to.
    ///
    /// Needed only if the name and the text of the file do not show it.
    #[arg(long = "as", value_name = "NAME", requires = "targets")]
    pub(crate) application: Option<String>,
    /// Check what this client process can reach, with its user and mounts.
    ///
    /// looptax also checks the AppArmor or SELinux confinement of this process. Without TARGET it checks the
    /// connections of this process; with a URL or a file as TARGET it checks the connections in TARGET.
    #[arg(long, value_name = "PID", conflicts_with = "user")]
    pub(crate) pid: Option<u32>,
    /// The client's user, such as www-data (default: you).
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The server's socket, or the socket's folder.
    ///
    /// Default: the socket of the server that listens on the URL's port on this machine.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// How many connections the client opens at once when it starts.
    ///
    /// For example PHP-FPM's `pm.max_children`, or workers times pool size. Default: the largest of the numbers that
    /// looptax can find: `pm.max_children`, Gunicorn's workers times threads, other workers, the pool size in the file,
    /// and the connections that are open now.
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// Print every point of the check, and how looptax knows its result.
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
