//! What `run` takes.

use std::ffi::OsString;

use clap::Args;
use looptax_switch::diagnose::moving::Wanted;

use super::PeerArgs;

/// Exit codes of `run`, for the end of its help.
pub(crate) const RUN_EXIT_CODES: &str =
    "Exit codes: the command's own; 125 looptax failed, 126 the command cannot be executed, 127 it was not found.";

/// Which servers' connections are moved.
#[derive(Debug, Clone, Args)]
pub(crate) struct MovingArgs {
    /// Move ADDRESS to SOCKET and nothing else.
    ///
    /// Move this address to this socket: 127.0.0.1:3306=/run/mysqld/mysqld.sock, `[::1]:5432=@name` for
    /// an abstract one. Then nothing is looked for, and nothing doubted.
    #[arg(long, value_name = "ADDRESS=SOCKET")]
    pub(crate) map: Vec<String>,
    /// Move this address as well, beside those that are found.
    ///
    /// Move this address as well, beside what is found: for a server that a look finds no pair of, or that the command
    /// starts itself, as PHP-FPM.
    #[arg(long, value_name = "ADDRESS=SOCKET", conflicts_with = "map")]
    pub(crate) also: Vec<String>,
    /// Only servers on these ports.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = port_number,
        value_name = "PORT,…",
        conflicts_with = "map"
    )]
    pub(crate) port: Vec<u16>,
    /// A connection of the command, tried beforehand.
    ///
    /// A connection that the command makes: `mysql://user@127.0.0.1/db`, its password in it or in
    /// `LOOPTAX_PASSWORD`. It is tried once over either transport first, and its port stays on TCP where
    /// the socket would refuse it or give it more; the rules of PostgreSQL count besides.
    #[arg(long, value_name = "DSN", conflicts_with = "map")]
    pub(crate) login: Vec<String>,
    /// Try no login beforehand.
    ///
    /// Log in nowhere beforehand, also where the command's arguments or environment name a connection.
    #[arg(long, conflicts_with = "login")]
    pub(crate) no_login: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Move a port only if its account is known.
    ///
    /// Leave a port on TCP where only a login could tell whether the socket leads to the same account
    /// (MariaDB, MySQL before version 8), and none is known: neither by `--login` nor from the command's
    /// arguments or environment.
    #[arg(long, conflicts_with_all = ["map", "no_login"])]
    pub(crate) require_login: bool,
}

/// Options of `run`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is typed or not")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) moving: MovingArgs,
    /// Print what would be moved and exit.
    ///
    /// Say what would be moved, and what `check` thinks of it; run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print at the end where each connection went, and why.
    ///
    /// Say at the end where each connection went, and why; and of each server why it stays on TCP. Also
    /// with `-q`.
    #[arg(long)]
    pub(crate) stats: bool,
    /// Print at once where each connection went, and why.
    ///
    /// Say of each connection at once where it went, and of each server why it stays on TCP.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Fail if nothing can be moved.
    ///
    /// Fail where nothing can be moved at all, instead of running the command as it is: no server, or a
    /// kernel that does not allow it. A single connection that stays on TCP is no failure.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Let the command continue if looptax is killed.
    ///
    /// Let the command go on when looptax is killed (`kill -9`), instead of killing it as well.
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
    /// What this asks of the machine, for a command.
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
