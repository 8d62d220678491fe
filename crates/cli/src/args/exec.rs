//! Options for whole commands: `--exec` and its kin.

use clap::Args;

/// Whole commands instead of requests.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ExecArgs {
    /// Run a command over each transport instead of requests.
    ///
    /// Run this command on either arm, again and again, instead of sending requests. {transport} becomes
    /// the tool's own flags for address and account: mysql, mariadb, mysqldump, mariadb-dump, mysqlslap,
    /// mariadb-slap, psql, `pg_dump`, pgbench, sysbench, redis-cli, redis-benchmark, valkey-cli,
    /// valkey-benchmark. Words are split as a shell would; there is no shell, so that pipes need
    /// `sh -c '…'` with --exec-unix and --exec-tcp. What it prints is thrown away.
    #[arg(help_heading = "Whole commands", long, value_name = "CMD", conflicts_with_all = ["exec_unix", "exec_tcp", "connections", "placement", "client", "client_like", "slice_ms", "pipeline", "protocol"])]
    pub(crate) exec: Option<String>,
    /// The command for unix, of any program.
    ///
    /// The command for the unix arm, for any program; needs no TARGET. With one, its environment has
    /// `LOOPTAX_SOCKET`, `LOOPTAX_HOST`, `LOOPTAX_PORT`, `LOOPTAX_USER`, `LOOPTAX_PASSWORD` and
    /// `LOOPTAX_DATABASE`.
    #[arg(help_heading = "Whole commands", hide_short_help = true, long, value_name = "CMD", requires = "exec_tcp", conflicts_with_all = ["connections", "placement", "client", "client_like", "slice_ms", "pipeline", "protocol"])]
    pub(crate) exec_unix: Option<String>,
    /// The command for tcp.
    #[arg(help_heading = "Whole commands", hide_short_help = true, long, value_name = "CMD", requires = "exec_unix")]
    pub(crate) exec_tcp: Option<String>,
    /// Stop a run of the command after this time.
    ///
    /// A run that takes longer (90s, 10m) is stopped, with all that it has started, and ends the
    /// measurement.
    #[arg(help_heading = "Whole commands", hide_short_help = true, long, value_name = "TIME", default_value = "10m")]
    pub(crate) exec_timeout: String,
}
