//! Options of `switch`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use looptax_experiment::spec::typed;
use looptax_switch::Restart;

use super::{JsonArgs, PeerArgs};

/// Exit codes of `switch`, for the end of its help.
pub(crate) const SWITCH_EXIT_CODES: &str = "Exit codes: 0 moved and proved, or nothing to do; 1 not moved, the old \
    file is back; 2 wrong usage or environment, nothing was changed; 3 the new file was \
    kept, but looptax has no proof that the application uses the socket.";

/// Options of `switch`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each of these fields is an option of the command line")]
pub(crate) struct SwitchArgs {
    /// The application's configuration file.
    ///
    /// wp-config.php, .env, settings.py, database.yml or the file of any of a few hundred other applications.
    #[arg(value_name = "FILE", required_unless_present_any = ["pid", "undo", "finish", "list"])]
    pub(crate) file: Option<PathBuf>,
    /// The server's own file, if the server has no socket yet.
    ///
    /// The two files, in any order, are changed as one switch; --socket says where the socket will be. OTHER is the
    /// configuration of the server that FILE connects to: redis.conf, valkey.conf, memcached.conf, an option file of
    /// MySQL or MariaDB, postgresql.conf, pgbouncer.ini or pgpool.conf; see --restart. If FILE is a site of nginx,
    /// Apache, Caddy or `HAProxy`, OTHER is the configuration of the server behind it: a pool of PHP-FPM,
    /// `gunicorn.conf.py`, an ini file of uWSGI or `puma.rb`. If FILE is the application's Podman unit (`.container`),
    /// OTHER is the unit of the server.
    #[arg(value_name = "OTHER", conflicts_with_all = ["containers", "fix_account", "fix_hba", "undo", "finish", "list"])]
    pub(crate) other: Option<PathBuf>,
    /// A process of the application.
    ///
    /// The proof then counts the connections of this process. Without FILE, looptax uses the configuration file that it
    /// finds in the working folder of the process.
    #[arg(long, value_name = "PID", conflicts_with = "user")]
    pub(crate) pid: Option<u32>,
    /// The user that the application runs as.
    ///
    /// For example www-data. Default: the user of the processes that are connected now.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Move only these connections of the file, by their numbers in the plan.
    #[arg(long, value_delimiter = ',', value_parser = number, value_name = "N,…")]
    pub(crate) only: Vec<usize>,
    /// Name of the application that the file belongs to.
    ///
    /// Needed only if the name and the text of the file do not show it.
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) application: Option<String>,
    /// FILE describes containers (Compose, Kubernetes).
    ///
    /// FILE is a Compose file or a Kubernetes manifest (also the output of `helm template`). The switch adds the folder
    /// of the socket as a volume to the containers of the application and of the server, gives Redis or Valkey a socket
    /// by an argument of its command, and sets the application's variables to the socket. Without this option looptax
    /// only prints the changes. Two Podman units (`.container`), as FILE and OTHER, do not need this option.
    #[arg(long, visible_alias = "compose", requires = "file", conflicts_with_all = ["pid", "socket"])]
    pub(crate) containers: bool,
    /// The server's socket, or the socket's folder.
    ///
    /// Default: the socket of the server that listens on the connection's port on this machine.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// How many connections the application opens at once when it starts.
    ///
    /// For example PHP-FPM's `pm.max_children`, or workers times pool size. Default: the largest number that looptax
    /// can find, as in `check`.
    #[arg(hide_short_help = true, short, long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// Also prove the move with many connections at the same time.
    ///
    /// looptax opens as many connections over the socket as --connections says, all at the same time and without a
    /// login. The server has to answer all of them.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["patch", "undo", "finish", "list"])]
    pub(crate) burst: bool,
    /// Shell command that makes the application read its file.
    ///
    /// It runs after the file is written, and again if the old file is put back.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) reload: Option<String>,
    /// Allow a restart of the server, by its systemd service or by COMMAND.
    ///
    /// A server reads its own file only at its start. Without COMMAND looptax restarts the server's systemd service.
    /// The plan shows what the restart loses.
    #[arg(long, value_name = "COMMAND", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option, reason = "an option with or without a value")]
    pub(crate) restart: Option<Option<String>>,
    /// A page of the application that has to stay the same.
    ///
    /// The page has to be the same after the move as before, except for parts that differ between any two requests.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// How long to wait for the application's connections.
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "TIME")]
    pub(crate) within: Duration,
    /// How long to time requests before and after the move.
    ///
    /// The kernel measures the times: this long (6s at least) before the move, and again after it. This needs root.
    /// looptax does not time requests if the application sends none while looptax plans the move.
    #[arg(hide_short_help = true, long, default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub(crate) times_over: Duration,
    /// Do not time requests.
    #[arg(hide_short_help = true, long, conflicts_with = "times_over")]
    pub(crate) no_times: bool,
    /// Print the plan; change nothing.
    ///
    /// Even with `--yes` nothing is changed.
    #[arg(long, conflicts_with = "patch")]
    pub(crate) dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// With --yes: keep the new file even if nothing proves the move.
    ///
    /// Without this option looptax puts the old file back if it does not see the application use the socket.
    #[arg(hide_short_help = true, long)]
    pub(crate) keep_unproved: bool,
    /// Also write files that another program manages.
    ///
    /// The other program (Ansible, Puppet, …) may overwrite the change. This option also allows a file that has several
    /// names (hard links).
    #[arg(hide_short_help = true, long)]
    pub(crate) force: bool,
    /// Also change the account so that it can log in over the socket.
    ///
    /// For MySQL and MariaDB. looptax logs in as --admin and runs the statements that the plan shows. This change is a
    /// separate switch, and --undo reverts it.
    #[arg(long, requires = "admin", conflicts_with = "patch")]
    pub(crate) fix_account: bool,
    /// Also add a line to `pg_hba.conf`, if the account needs it.
    ///
    /// If `pg_hba.conf` rejects the account on the socket, looptax inserts a line (the plan shows it) above the line
    /// that rejects the account, and reloads the server. This change is a separate switch, and --undo reverts it.
    #[arg(long, conflicts_with = "patch")]
    pub(crate) fix_hba: bool,
    /// Administrator of the server, for --fix-account and --fix-hba.
    ///
    /// For example `mysql://root@localhost/?socket=/run/mysqld/mysqld.sock`, with the password in
    /// `LOOPTAX_ADMIN_PASSWORD`. --undo of these changes needs --admin as well. If looptax runs as root, --fix-hba does
    /// not need --admin.
    #[arg(long, value_name = "DSN")]
    pub(crate) admin: Option<String>,
    /// Print a unified diff; change nothing.
    ///
    /// For configuration management. The diff contains passwords if the file contains them.
    #[arg(long, conflicts_with = "json")]
    pub(crate) patch: bool,
    /// Put back the old files of this switch, or of the last switch.
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "last", conflicts_with_all = ["file", "pid", "list", "finish"])]
    pub(crate) undo: Option<String>,
    /// Finish a switch that was interrupted.
    #[arg(long, value_name = "ID", conflicts_with_all = ["file", "pid", "list"])]
    pub(crate) finish: Option<String>,
    /// List the switches and the state of their files.
    #[arg(long, conflicts_with_all = ["file", "pid"])]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

impl SwitchArgs {
    pub(crate) fn may_restart(&self) -> Restart<'_> {
        match &self.restart {
            None => Restart::NotAgreed,
            Some(None) => Restart::ByItsService,
            Some(Some(command)) => Restart::By(command),
        }
    }
}

fn number(typed: &str) -> Result<usize, &'static str> {
    let parsed = typed.parse().ok().filter(|it| *it > 0);
    parsed.ok_or("give a number from the plan, for example 1 or 1,3")
}

/// Parses `60s` or `5m`.
pub(super) fn duration(typed: &str) -> Result<Duration, &'static str> {
    typed::time(typed)
        .filter(|it| (Duration::from_secs(1)..=Duration::from_secs(86_400)).contains(it))
        .ok_or("give a time from 1 second to 1 day, for example 60s or 5m")
}
