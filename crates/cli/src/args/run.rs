//! Options of `run`.

use std::ffi::OsString;

use clap::Args;
use looptax_switch::diagnose::moving::Wanted;

use super::PeerArgs;

/// Exit codes of `run`, for the end of its help.
pub(crate) const RUN_EXIT_CODES: &str = "Exit codes: the command's own; 125 looptax failed, 126 the command cannot be \
    executed, 127 the command was not found.";

/// Options that choose the servers whose connections are moved.
#[derive(Debug, Clone, Args)]
pub(crate) struct MovingArgs {
    /// Connect to SOCKET instead of ADDRESS, and move nothing else.
    ///
    /// For example 127.0.0.1:3306=/run/mysqld/mysqld.sock, or `[::1]:5432=@name` for an abstract socket. looptax then
    /// does not search for servers, and does not check whether ADDRESS and SOCKET lead to the same server.
    #[arg(long, value_name = "ADDRESS=SOCKET")]
    pub(crate) map: Vec<String>,
    /// Also move connections from ADDRESS to SOCKET, besides the servers found.
    ///
    /// For a server that looptax cannot match with a socket, or that the command starts itself, such as PHP-FPM.
    #[arg(long, value_name = "ADDRESS=SOCKET", conflicts_with = "map")]
    pub(crate) also: Vec<String>,
    /// Move only connections to servers on these ports.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = port_number,
        value_name = "PORT,…",
        conflicts_with = "map"
    )]
    pub(crate) port: Vec<u16>,
    /// URL that the command connects to; looptax tests its login first.
    ///
    /// For example `mysql://user@127.0.0.1/db`, with the password in the URL or in `LOOPTAX_PASSWORD`. looptax logs in
    /// over TCP and over the socket. Connections to the URL's port stay on TCP if the server rejects the account
    /// on the socket or gives the account more rights there, or if PostgreSQL's rules for TCP and the socket differ.
    #[arg(long, value_name = "DSN", conflicts_with = "map")]
    pub(crate) login: Vec<String>,
    /// Do not test any login before the command starts.
    ///
    /// Without this option looptax tries the connections in the command's arguments and environment.
    #[arg(long, conflicts_with = "login")]
    pub(crate) no_login: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Leave a server on TCP if looptax does not know the command's login.
    ///
    /// The account is known if it is in --login or in the command's arguments or environment. For MariaDB, and for
    /// MySQL before version 8, only a login can show whether the socket leads to the same account.
    #[arg(long, conflicts_with_all = ["map", "no_login"])]
    pub(crate) require_login: bool,
}

/// Options of `run`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each of these fields is an option of the command line")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) moving: MovingArgs,
    /// Print what would be moved and exit.
    ///
    /// Also prints the findings that `check` would print.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print at the end where each connection went, and why.
    ///
    /// Also prints why a server stays on TCP. Works with `-q` too.
    #[arg(long)]
    pub(crate) stats: bool,
    /// Print immediately where each connection went, and why.
    ///
    /// Also prints why a server stays on TCP.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Fail if nothing can be moved.
    ///
    /// The run fails if no server has a socket, or if the kernel does not let looptax move connections. Without this
    /// option the command then runs unchanged. A single connection that stays on TCP is not a failure.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Let the command continue if looptax is killed.
    ///
    /// Without this option `kill -9` of looptax kills the command too.
    #[arg(long)]
    pub(crate) keep_running: bool,
    /// Do without a feature of the kernel (for tests): listener, kcmp, pidfs …
    #[arg(long, hide = true, value_delimiter = ',', value_name = "FEATURE,…")]
    pub(crate) without: Vec<String>,
    /// The command with its arguments.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD",
        required_unless_present = "dry_run"
    )]
    pub(crate) command: Vec<OsString>,
}

impl MovingArgs {
    /// Returns the options for the diagnosis of this command.
    pub(crate) fn wanted<'a>(&'a self, command: &'a [OsString]) -> Wanted<'a> {
        Wanted {
            map: &self.map,
            also: &self.also,
            ports: &self.port,
            login: &self.login,
            no_login: self.no_login,
            require_login: self.require_login,
            command,
        }
    }
}

fn port_number(text: &str) -> Result<u16, &'static str> {
    let parsed = text.parse().ok().filter(|port| *port > 0);
    parsed.ok_or("a port is a number from 1 to 65535")
}
