//! What `switch` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use looptax_experiment::spec::typed;
use looptax_switch::Restart;

use super::{JsonArgs, PeerArgs};

/// Exit codes of `switch`, for the end of its help.
pub(crate) const SWITCH_EXIT_CODES: &str = "Exit codes: 0 moved and proved, or nothing to do; 1 not, and the old file is back; 2 wrong usage or environment, nothing was changed; 3 moved, and not proved: it was left so, or is not seen from here.";

/// Options of `switch`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is typed or not")]
pub(crate) struct SwitchArgs {
    /// The application's configuration file.
    ///
    /// The application's configuration file: wp-config.php, .env, settings.py, database.yml and those of
    /// some hundred others.
    #[arg(value_name = "FILE", required_unless_present_any = ["pid", "undo", "finish", "list"])]
    pub(crate) file: Option<PathBuf>,
    /// The server's own file, if it has no socket yet.
    ///
    /// The own file of the server that FILE's connections lead to, if that has no socket yet: redis.conf, valkey.conf,
    /// memcached.conf, an option file of MySQL or `MariaDB`, postgresql.conf, pgbouncer.ini, pgpool.conf; see --restart. Or
    /// the own file of what a web server hands its pages to, if FILE is that of nginx, Apache, Caddy or `HAProxy`: a pool of
    /// PHP-FPM, `gunicorn.conf.py`, an ini file of uWSGI, `puma.rb`. Or Podman's `.container` unit of the server, if FILE is
    /// that of the application. Both files are one switch, in any order, and --socket
    /// says where the socket is to be.
    #[arg(value_name = "OTHER", conflicts_with_all = ["containers", "fix_account", "fix_hba", "undo", "finish", "list"])]
    pub(crate) other: Option<PathBuf>,
    /// A process of the application.
    ///
    /// A process of the application: its connections are those that are proved. Without FILE the file that
    /// they come from is looked for in its working folder.
    #[arg(long, value_name = "PID", conflicts_with = "user")]
    pub(crate) pid: Option<u32>,
    /// The user that the application runs as.
    ///
    /// As whom the application runs: www-data. Default: the user of the processes that are connected now.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only these of the file's connections, by their numbers in the plan.
    #[arg(long, value_delimiter = ',', value_parser = number, value_name = "N,…")]
    pub(crate) only: Vec<usize>,
    /// Name the application whose file it is.
    ///
    /// Which application's file it is, where its name and its words leave that open.
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) application: Option<String>,
    /// FILE describes containers (Compose, Kubernetes).
    ///
    /// FILE describes containers: a Compose file, or a manifest of Kubernetes (a chart's rendered text too). The folder of the
    /// socket becomes a volume of the application's container and the server's, a Redis or Valkey gets a socket by its
    /// command, and the application's variables name the socket. Without it such lines are only said. Two `.container`
    /// units of Podman, as FILE and OTHER, need no option.
    #[arg(long, visible_alias = "compose", requires = "file", conflicts_with_all = ["pid", "socket"])]
    pub(crate) containers: bool,
    /// The server's socket, or its folder.
    ///
    /// The server's socket, or its folder. Default: that of the server that listens on the connection's port
    /// here.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Connections that come at once when the application starts.
    ///
    /// Connections that come at once when the application starts: PHP-FPM's `pm.max_children`, workers times
    /// pool size. Default: the most that is counted, as `check` does.
    #[arg(hide_short_help = true, short, long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// Also prove it with many connections at once.
    ///
    /// Prove it also by a burst: as many connects at once over the socket as --connections says or is counted. All have to
    /// be answered; nobody logs in.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["patch", "undo", "finish", "list"])]
    pub(crate) burst: bool,
    /// Shell command that makes the application read its file.
    ///
    /// Run this in a shell once the file is written, so that the application reads it; again after the old file
    /// was put back.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) reload: Option<String>,
    /// Allow a restart of the server, by its service or this command.
    ///
    /// The server may be restarted, by its systemd service or by this command: it reads its own file at its start only.
    /// The plan says what that loses.
    #[arg(long, value_name = "COMMAND", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option, reason = "an option with or without a value")]
    pub(crate) restart: Option<Option<String>>,
    /// A page of the application that has to stay the same.
    ///
    /// A page of the application: it has to be as before, but for what differs between two requests anyway.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// How long to wait for connections.
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "TIME")]
    pub(crate) within: Duration,
    /// How long to time requests before and after the move.
    ///
    /// Time the application's requests for so long before the move and again after it, in the kernel (6s at least); needs root,
    /// and is left out if nothing is asked while the move is planned.
    #[arg(hide_short_help = true, long, default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub(crate) times_over: Duration,
    /// Do not time requests.
    #[arg(hide_short_help = true, long, conflicts_with = "times_over")]
    pub(crate) no_times: bool,
    /// Print the plan; change nothing.
    ///
    /// Say what would be done; change nothing, also with `--yes`.
    #[arg(long, conflicts_with = "patch")]
    pub(crate) dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// With --yes: keep the new file even if nothing proves it.
    ///
    /// With --yes, leave the new file also where nothing shows that the application works by it.
    #[arg(hide_short_help = true, long)]
    pub(crate) keep_unproved: bool,
    /// Also write files that another program manages.
    ///
    /// Write also what another program writes anew (Ansible, Puppet, …), and files that have other names.
    #[arg(hide_short_help = true, long)]
    pub(crate) force: bool,
    /// Also give the account what it needs on the socket.
    ///
    /// Where the account lacks what it takes on the socket: run the statements that the plan shows, with --admin. They
    /// are a switch of their own, and --undo takes them back.
    #[arg(long, requires = "admin", conflicts_with = "patch")]
    pub(crate) fix_account: bool,
    /// Also add the line that `pg_hba.conf` needs.
    ///
    /// Where `pg_hba.conf` lets nobody in over the socket: write the line that the plan shows above the one that
    /// decides now, and have the server read it. It is a switch of its own, and --undo takes it back.
    #[arg(long, conflicts_with = "patch")]
    pub(crate) fix_hba: bool,
    /// Administrator of the server, for --fix-account and --fix-hba.
    ///
    /// An administrator of the server, for --fix-account, --fix-hba and their --undo; the password in
    /// `LOOPTAX_ADMIN_PASSWORD`: `mysql://root@localhost/?socket=/run/mysqld/mysqld.sock`. Root may fix
    /// `pg_hba.conf` without one.
    #[arg(long, value_name = "DSN")]
    pub(crate) admin: Option<String>,
    /// Print a unified diff; change nothing.
    ///
    /// Print what would be written as a unified diff, for configuration management; change nothing. Passwords
    /// are in it where they are in the file.
    #[arg(long, conflicts_with = "json")]
    pub(crate) patch: bool,
    /// Put the old files back: of this switch, or of the last one.
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
    parsed.ok_or("a number of the plan, as 1 or 1,3")
}

/// `60s`, `5m`.
pub(super) fn duration(typed: &str) -> Result<Duration, &'static str> {
    typed::time(typed)
        .filter(|it| (Duration::from_secs(1)..=Duration::from_secs(86_400)).contains(it))
        .ok_or("a time as 60s or 5m, a second at least and a day at most")
}
